/* SPDX-License-Identifier: Apache-2.0 */

/* hearth diff: compares the functions of a profile with those of another, the base. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/log.h"
#include "symbolizer/cli/client/list_answer.h"
#include "symbolizer/cli/client/server_message.h"
#include "symbolizer/cli/command/command.h"
#include "symbolizer/cli/list/diff_text.h"
#include "symbolizer/cli/list/regression_text.h"
#include "symbolizer/cli/list/service_choice.h"
#include "symbolizer/cli/print/printable.h"
#include "symbolizer/cli/print/scoped_json.h"
#include "symbolizer/cli/print/terminal.h"

#define MAX_PATH_BYTES (64 * KIB)

/* The most rows that the server sends. */
#define ALL_ROWS "100000"

enum diff_key {
	KEY_BASE_SINCE = 0x300,
	KEY_BASE_UNTIL,
	KEY_BASE_LAST,
	KEY_BASE_FILTER,
	KEY_BASE_SERVICE,
	KEY_MODE,
	KEY_FAIL_OVER,
	KEY_REGRESSIONS,
};

struct diff_options {
	struct connection_options connection;
	struct selection_options selection;
	struct output_options output;
	struct time_range_texts base_texts;
	struct time_range base;
	bool has_base_range;
	const char *base_filter;
	const char *base_service;
	const char *mode;
	bool by_total;
	bool regressions;     /* ask for what is beyond chance only */
	double fail_over_pct; /* 0: not given */
};

static bool has_base_time(const struct diff_options *options)
{
	return options->base_texts.since || options->base_texts.until || options->base_texts.last;
}

/*
 * Without any option for the base, it is as long as the range, and directly before it. With another
 * service or filter only, it has the same range.
 */
static void set_base_range(struct diff_options *options, struct argp_state *state)
{
	const struct time_range *range = &options->selection.range.range;
	const uint64_t length_s = range->until_s - range->since_s + 1;
	char message[TIME_RANGE_MESSAGE_SIZE], last[32];

	options->has_base_range = has_base_time(options);
	if (options->has_base_range) {
		(void)snprintf(last, sizeof(last), "%llus", (unsigned long long)length_s);
		if (!options->base_texts.since && !options->base_texts.last)
			options->base_texts.last = last;
		if (time_range_resolve(&options->base_texts,
				       clock_wall_ns(&system_clock) / NSEC_PER_SEC, &options->base,
				       message) < 0)
			argp_error(state, "the base: %s", message);
		options->base_texts.last = NULL;
	} else if (!options->base_filter && !options->base_service) {
		options->has_base_range = true;
		options->base = (struct time_range){
			.since_s = range->since_s - MIN(range->since_s, length_s),
			.until_s = range->since_s - MIN(range->since_s, UINT64_C(1)),
		};
	}
}

static double parse_percent(const char *text, struct argp_state *state)
{
	char *end;
	double percent = strtod(text, &end);

	if (end == text || (strcmp(end, "%") != 0 && *end) || !(percent > 0 && percent < 1e6))
		argp_error(state, "--fail-over '%.40s' is no percentage above 0, such as 5%%",
			   text);
	return percent;
}

static void set_mode(struct diff_options *options, const char *text, struct argp_state *state)
{
	static const char *const modes[] = { "relative", "normalised", "absolute" };

	for (size_t i = 0; i < ARRAY_SIZE(modes); i++)
		if (strcmp(text, modes[i]) == 0)
			options->mode = modes[i];
	if (strcmp(options->mode ? options->mode : "", text) != 0)
		argp_error(state, "--mode '%.40s' is neither relative nor normalised nor absolute",
			   text);
}

static error_t parse(int key, char *text, struct argp_state *state)
{
	struct diff_options *options = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &options->selection;
		state->child_inputs[1] = &options->connection;
		state->child_inputs[2] = &options->output;
		return 0;
	case KEY_BASE_SINCE:
		options->base_texts.since = text;
		return 0;
	case KEY_BASE_UNTIL:
		options->base_texts.until = text;
		return 0;
	case KEY_BASE_LAST:
		options->base_texts.last = text;
		return 0;
	case KEY_BASE_FILTER:
		options->base_filter = text;
		return 0;
	case KEY_BASE_SERVICE:
		options->base_service = text;
		return 0;
	case KEY_MODE:
		set_mode(options, text, state);
		return 0;
	case KEY_FAIL_OVER:
		options->fail_over_pct = parse_percent(text, state);
		return 0;
	case KEY_REGRESSIONS:
		options->regressions = true;
		return 0;
	case 't':
		options->by_total = true;
		return 0;
	case ARGP_KEY_SUCCESS:
		set_base_range(options, state);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_option rows[] = {
	{ NULL, 0, NULL, 0, "What to compare it with (the time before):", 5 },
	{ "base-since", KEY_BASE_SINCE, "TIME", 0, "as --since", 5 },
	{ "base-until", KEY_BASE_UNTIL, "TIME", 0, "as --until", 5 },
	{ "base-last", KEY_BASE_LAST, "DURATION", 0, "as --last (the length of the range)", 5 },
	{ "base-filter", KEY_BASE_FILTER, "EXPRESSION", 0, "instead of --filter", 5 },
	{ "base-service", KEY_BASE_SERVICE, "NAME", 0, "instead of SERVICE", 5 },
	{ NULL, 0, NULL, 0, "Output:", 6 },
	{ "mode", KEY_MODE, "MODE", 0,
	  "relative (default): shares; normalised: per covered second; absolute", 6 },
	{ "total", 't', NULL, 0, "compare total instead of self", 6 },
	{ "regressions", KEY_REGRESSIONS, NULL, 0,
	  "only what changed beyond chance, with its interval of confidence", 6 },
	{ "fail-over", KEY_FAIL_OVER, "PERCENT", 0,
	  "end with status 4 if a function grew by more, e.g. 5%; with --regressions: if it did "
	  "even at the low end of the interval",
	  6 },
	{}
};

static const struct argp_child children[] = { { &selection_argp, 0, NULL, 0 },
					      { &connection_argp, 0, NULL, 0 },
					      { &output_argp, 0, NULL, 0 },
					      {} };

static const struct argp diff_argp = {
	.options = rows,
	.parser = parse,
	.args_doc = "[SERVICE]",
	.children = children,
	.doc = "Compares the functions of a service with those of an earlier time, or of another "
	       "filter or service.",
};

static int write_path(struct client *client, const struct diff_options *options, struct bytes *path)
{
	const struct selection_options *selection = &options->selection;
	struct time_range_parameters range = time_range_parameters(&selection->range.range);
	struct time_range_parameters base = { .since = "", .until = "" };

	if (options->has_base_range)
		base = time_range_parameters(&options->base);
	return client_path(client, path, options->regressions ? "/v1/regressions" : "/v1/diff",
			   "service", selection->service ? selection->service : "", "event",
			   event_type_name(selection->event), "filter",
			   selection->filter ? selection->filter : "", "fold_threads",
			   selection->fold_threads ? "true" : "", "inlines",
			   selection->no_inlines ? "false" : "", "since", range.since, "until",
			   range.until, "base_since", base.since, "base_until", base.until,
			   "base_filter", options->base_filter ? options->base_filter : "",
			   "base_service", options->base_service ? options->base_service : "",
			   "mode", options->mode ? options->mode : "", "sort",
			   options->by_total ? "total" : "", "limit", ALL_ROWS, NULL);
}

/* Prints the functions that grew too much. */
static enum exit_code judge(const json_t *answer, const struct diff_options *options)
{
	scoped_bytes struct bytes name = BYTES_INIT(64 * KIB);
	const json_t *first = NULL;
	size_t count;

	if (options->fail_over_pct <= 0)
		return EXIT_OK;
	count = options->regressions ? regression_text_above(answer, options->fail_over_pct, &first)
				     : diff_text_grown(answer, options->by_total,
						       options->fail_over_pct, &first);
	if (count == 0)
		return EXIT_OK;
	(void)printable_append(&name, list_text(first, "function"), -1);
	(void)bytes_append_byte(&name, '\0');
	(void)fprintf(stderr, "%zu %s grew by more than %g %%: %s%s\n", count,
		      count == 1 ? "function" : "functions", options->fail_over_pct,
		      bytes_error(&name) == 0 ? (const char *)name.data : "",
		      count > 1 ? ", ..." : "");
	return EXIT_GROWN;
}

static int print(const json_t *answer, struct bytes *body, const struct diff_options *options)
{
	scoped_bytes struct bytes text = BYTES_INIT(CLIENT_MAX_ANSWER_BYTES);
	struct terminal terminal = terminal_of_stdout();
	const struct diff_text_options format = {
		.type = options->selection.event,
		.by_total = options->by_total,
		.max_rows = options->output.has_rows ? options->output.rows
						     : terminal_table_rows(&terminal),
		.width = options->output.width > 0 ? (int)options->output.width : terminal.width,
	};

	if (options->connection.json) {
		(void)bytes_append_byte(body, '\n');
		return terminal_print(body);
	}
	if (options->regressions)
		regression_text_write(answer, format.max_rows, format.width, &text);
	else
		diff_text_write(answer, &format, &text);
	server_message_print_note(list_text(json_object_get(answer, "after"), "message"));
	return terminal_print(&text);
}

static enum exit_code diff(struct client *client, const struct diff_options *options,
			   struct client_download *answer)
{
	scoped_bytes struct bytes path = BYTES_INIT(MAX_PATH_BYTES);
	scoped(json_freep) json_t *root = NULL;
	int r = write_path(client, options, &path);

	if (r < 0) {
		(void)log_error_errno(r, "cannot write the request: %m");
		return EXIT_ERROR;
	}
	r = client_get_download(client, (const char *)path.data, answer);
	if (r < 0)
		return exit_code_of_error(r);
	if (r == 0) {
		server_message_print_no_data(answer->message, options->selection.event);
		return EXIT_NO_DATA;
	}
	root = json_loadb((const char *)answer->body.data, answer->body.size, 0, NULL);
	if (!json_is_array(
		    json_object_get(root, options->regressions ? "regressions" : "functions"))) {
		log_error("the answer is no comparison; is this a hearth-symbolizer?");
		return EXIT_ERROR;
	}
	return print(root, &answer->body, options) < 0 ? EXIT_ERROR : judge(root, options);
}

enum exit_code command_diff(int argc, char **argv)
{
	struct client_download answer = { .body = BYTES_INIT(0) };
	scoped(client_freep) struct client *client = NULL;
	struct diff_options options = {};
	enum exit_code code;

	if (argp_parse(&diff_argp, argc, argv, 0, NULL, &options) != 0)
		return EXIT_USAGE;
	if (client_new(&options.connection, &client) < 0)
		return EXIT_ERROR;
	if (!selection_is_given(&options.selection))
		return service_choice_print(client, &options.selection.range.range, argv[0]);
	code = diff(client, &options, &answer);
	bytes_release(&answer.body);
	return code;
}
