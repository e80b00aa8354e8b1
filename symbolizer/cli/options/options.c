/* SPDX-License-Identifier: Apache-2.0 */

/*
 * argp calls the parser of a child with ARGP_KEY_INIT before the arguments and with ARGP_KEY_END
 * after them. Parsers set defaults at the first and check combinations of options at the second.
 */

#include "symbolizer/cli/options/options.h"

#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "symbolizer/cli/options/exit_code.h"

#define DEFAULT_SERVER "http://127.0.0.1:20416"

/* Keys of options without a short form; smaller keys are characters. */
enum option_key {
	KEY_TOKEN = 0x100,
	KEY_TOKEN_FILE,
	KEY_SINCE,
	KEY_UNTIL,
	KEY_FOLD_THREADS,
	KEY_NO_INLINES,
	KEY_CALLERS_OF,
	KEY_CALLEES_OF,
	KEY_WIDTH,
};

/* An empty variable counts as not set. */
static const char *variable(const char *name)
{
	const char *value = getenv(name);

	return value && value[0] ? value : NULL;
}

static error_t parse_connection(int key, char *text, struct argp_state *state)
{
	struct connection_options *options = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		options->server = variable("HEARTH_SERVER");
		options->token = variable("HEARTH_TOKEN");
		if (!options->token)
			options->token_file = variable("HEARTH_TOKEN_FILE");
		return 0;
	case 's':
		options->server = text;
		return 0;
	case KEY_TOKEN:
		options->token = text;
		options->token_file = NULL;
		return 0;
	case KEY_TOKEN_FILE:
		options->token_file = text;
		return 0;
	case 'j':
		options->json = true;
		return 0;
	case ARGP_KEY_ARG:
		/* No other parser accepted this argument. */
		argp_error(state, "'%.40s' is one argument too many", text);
		return 0;
	case ARGP_KEY_END:
		if (!options->server || options->server[0] == '\0')
			options->server = DEFAULT_SERVER;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_option connection_rows[] = {
	{ NULL, 0, NULL, 0, "Server:", 10 },
	{ "server", 's', "URL", 0, "the server (HEARTH_SERVER; " DEFAULT_SERVER ")", 0 },
	{ "token", KEY_TOKEN, "TOKEN", 0,
	  "a token for it (HEARTH_TOKEN); others on this host can see it here", 0 },
	{ "token-file", KEY_TOKEN_FILE, "FILE", 0, "read the token from a file (HEARTH_TOKEN_FILE)",
	  0 },
	{ "json", 'j', NULL, 0, "print the answer as JSON", 0 },
	{}
};

const struct argp connection_argp = { .options = connection_rows, .parser = parse_connection };

const char *connection_server_to_print(const struct connection_options *options)
{
	const char *usual = variable("HEARTH_SERVER");

	if (!usual)
		usual = DEFAULT_SERVER;
	return strcmp(options->server, usual) == 0 ? NULL : options->server;
}

static error_t parse_range(int key, char *text, struct argp_state *state)
{
	struct range_options *options = state->input;
	char message[TIME_RANGE_MESSAGE_SIZE];

	switch (key) {
	case KEY_SINCE:
		options->texts.since = text;
		return 0;
	case KEY_UNTIL:
		options->texts.until = text;
		return 0;
	case 'l':
		options->texts.last = text;
		return 0;
	case ARGP_KEY_END:
		if (time_range_resolve(&options->texts, clock_wall_ns(&system_clock) / NSEC_PER_SEC,
				       &options->range, message) < 0)
			argp_error(state, "%s", message);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_option range_rows[] = {
	{ NULL, 0, NULL, 0, "Time range:", 5 },
	{ "last", 'l', "DURATION", 0, "the last 5m, 2h, 7d ... (" TIME_RANGE_DEFAULT_LAST ")", 0 },
	{ "since", KEY_SINCE, "TIME", 0,
	  "from: 03:12, yesterday, '10m ago', '2026-08-21 09:30', unix seconds", 0 },
	{ "until", KEY_UNTIL, "TIME", 0, "to, included (now)", 0 },
	{}
};

const struct argp range_argp = { .options = range_rows, .parser = parse_range };

static void set_service(struct selection_options *options, const char *name,
			struct argp_state *state)
{
	if (options->service && strcmp(options->service, name) != 0)
		argp_error(state, "give one service: '%.40s' or '%.40s'", options->service, name);
	if (name[0] == '\0')
		argp_error(state, "the name of the service is empty; 'hearth services' lists them");
	options->service = name;
}

const char *tag_of_word(const char *word)
{
	static const struct {
		const char *word;
		const char *tag;
	} words[] = {
		{ "process", SELECTION_BY_PROCESS },
		{ "pid", SELECTION_BY_PROCESS },
		{ "container", "container_id" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		if (strcmp(words[i].word, word) == 0)
			return words[i].tag;
	}
	return word;
}

static error_t parse_selection(int key, char *text, struct argp_state *state)
{
	struct selection_options *options = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		options->event = EVENT_ON_CPU;
		state->child_inputs[0] = &options->range;
		return 0;
	case 'S':
	case ARGP_KEY_ARG:
		set_service(options, text, state);
		return 0;
	case 'e':
		options->event = event_type_from_name(text);
		options->other_event = text;
		if (options->event == EVENT_NONE && !options->takes_any_event)
			argp_error(state,
				   "--event '%.40s' is no event type; "
				   "agents collect " COLLECTED_EVENTS,
				   text);
		return 0;
	case 'f':
		options->filter = text;
		return 0;
	case KEY_FOLD_THREADS:
		options->fold_threads = true;
		return 0;
	case KEY_NO_INLINES:
		options->no_inlines = true;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_option selection_rows[] = {
	{ NULL, 0, NULL, 0, "What to look at:", 4 },
	{ "service", 'S', "NAME", 0, "the same as SERVICE; Total: whole hosts", 0 },
	{ "event", 'e', "TYPE", 0, "on-cpu (default), off-cpu, run-queue", 0 },
	{ "filter", 'f', "EXPRESSION", 0, "tags, e.g. \"host = 'web-1' AND thread NOT LIKE 'gc*'\"",
	  0 },
	{ "fold-threads", KEY_FOLD_THREADS, NULL, 0, "merge the threads of a process", 0 },
	{ "no-inlines", KEY_NO_INLINES, NULL, 0, "no frames for functions that were inlined", 0 },
	{}
};

static const struct argp_child selection_children[] = { { &range_argp, 0, NULL, 0 }, {} };

const struct argp selection_argp = {
	.options = selection_rows,
	.parser = parse_selection,
	.children = selection_children,
};

static error_t parse_by(int key, char *text, struct argp_state *state)
{
	struct selection_options *options = state->input;

	switch (key) {
	case 'b':
		if (text[0] == '\0')
			argp_error(state, "--by needs a tag, such as host, thread or process");
		options->by = tag_of_word(text);
		return 0;
	case ARGP_KEY_END:
		/* Without a selection, group the processes of all hosts. */
		if (options->by && !selection_is_given(options))
			options->service = SERVICE_TOTAL;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_option by_rows[] = {
	{ NULL, 0, NULL, 0, NULL, 4 },
	{ "by", 'b', "TAG", 0, "a branch or row for each host, thread, process or LABEL", 4 },
	{}
};

const struct argp by_argp = { .options = by_rows, .parser = parse_by };

static error_t parse_side(int key, char *text, struct argp_state *state)
{
	struct selection_options *options = state->input;

	switch (key) {
	case KEY_CALLERS_OF:
		options->callers_of = text;
		return 0;
	case KEY_CALLEES_OF:
		options->callees_of = text;
		return 0;
	case ARGP_KEY_END:
		if (options->callers_of && options->callees_of)
			argp_error(state, "give --callers-of or --callees-of, not both");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_option side_rows[] = {
	{ NULL, 0, NULL, 0, NULL, 4 },
	{ "callers-of", KEY_CALLERS_OF, "FUNCTION", 0, "its callers only, innermost first", 4 },
	{ "callees-of", KEY_CALLEES_OF, "FUNCTION", 0, "what it calls only, from all callers", 4 },
	{}
};

static const struct argp side_argp = { .options = side_rows, .parser = parse_side };

static error_t parse_output(int key, char *text, struct argp_state *state)
{
	struct output_options *options = state->input;

	switch (key) {
	case 'n':
		options->rows = options_number(state, "--rows", text, 1000000);
		options->has_rows = true;
		return 0;
	case KEY_WIDTH:
		options->width = options_number(state, "--width", text, 10000);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

#define WIDTH_ROW                                                                                  \
	{                                                                                          \
		"width", KEY_WIDTH, "N", 0, "columns (of the terminal)", 6                         \
	}

static const struct argp_option width_rows[] = { { NULL, 0, NULL, 0, "Output:", 6 },
						 WIDTH_ROW,
						 {} };

const struct argp width_argp = { .options = width_rows, .parser = parse_output };

static const struct argp_option output_rows[] = {
	{ NULL, 0, NULL, 0, "Output:", 6 },
	{ "rows", 'n', "N", 0, "at most N rows (what fits the terminal; 0: all), also with --json",
	  6 },
	WIDTH_ROW,
	{}
};

const struct argp output_argp = { .options = output_rows, .parser = parse_output };

const struct argp_child printed_selection_children[] = { { &selection_argp, 0, NULL, 0 },
							 { &connection_argp, 0, NULL, 0 },
							 { &by_argp, 0, NULL, 0 },
							 { &output_argp, 0, NULL, 0 },
							 {} };

const struct argp_child printed_profile_children[] = {
	{ &selection_argp, 0, NULL, 0 }, { &connection_argp, 0, NULL, 0 }, { &by_argp, 0, NULL, 0 },
	{ &output_argp, 0, NULL, 0 },    { &side_argp, 0, NULL, 0 },       {}
};

void pass_printed_selection(struct argp_state *state, struct selection_options *selection,
			    struct connection_options *connection, struct output_options *output)
{
	state->child_inputs[0] = selection;
	state->child_inputs[1] = connection;
	state->child_inputs[2] = selection; /* of --by */
	state->child_inputs[3] = output;
}

void pass_printed_profile(struct argp_state *state, struct selection_options *selection,
			  struct connection_options *connection, struct output_options *output)
{
	pass_printed_selection(state, selection, connection, output);
	state->child_inputs[4] = selection; /* of --callers-of */
}

uint32_t options_number_from(struct argp_state *state, const char *option, const char *text,
			     uint32_t min, uint32_t max)
{
	char *end;
	unsigned long number;

	errno = 0;
	number = strtoul(text, &end, 10);
	if (text[0] < '0' || text[0] > '9' || *end != '\0' || errno != 0 || number > max ||
	    number < min)
		argp_error(state, "%s '%.40s' is no number from %u to %u", option, text, min, max);
	return (uint32_t)number;
}

uint32_t options_number(struct argp_state *state, const char *option, const char *text,
			uint32_t max)
{
	return options_number_from(state, option, text, 0, max);
}
