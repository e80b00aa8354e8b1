/* SPDX-License-Identifier: Apache-2.0 */

/*
 * hearth source: prints the lines of a function with their values. The text of a file is that of
 * --dir, or else that which was uploaded to the server, or else the file with this path on this
 * machine.
 */

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "common/file.h"
#include "common/log.h"
#include "common/vec.h"
#include "symbolizer/cli/client/list_answer.h"
#include "symbolizer/cli/client/server_message.h"
#include "symbolizer/cli/command/command.h"
#include "symbolizer/cli/list/source_text.h"
#include "symbolizer/cli/print/scoped_json.h"
#include "symbolizer/cli/print/terminal.h"

#define MAX_TEXT_BYTES (256 * MIB)
#define MAX_PATH_BYTES MIB

/* The largest text of a source file that is read. */
#define MAX_SOURCE_BYTES (64 * MIB)

struct source_options {
	struct connection_options connection;
	struct selection_options selection;
	const char *function;
	const char *folder; /* NULL: none */
	struct output_options output;
};

static error_t parse(int key, char *text, struct argp_state *state)
{
	struct source_options *options = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &options->selection;
		state->child_inputs[1] = &options->connection;
		state->child_inputs[2] = &options->output;
		return 0;
	case 'd':
		options->folder = text;
		return 0;
	case ARGP_KEY_ARG:
		/* The first one is that of selection_argp, unless the service is an option. */
		if (state->arg_num == 0 && !options->selection.service && state->next < state->argc)
			return ARGP_ERR_UNKNOWN;
		if (options->function)
			argp_error(state, "give one function; quote a name with blanks");
		options->function = text;
		return 0;
	case ARGP_KEY_END:
		if (!options->function || !selection_is_given(&options->selection))
			argp_error(state, "give a service and a function; 'hearth top SERVICE' "
					  "lists the functions");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_option options_of_source[] = {
	{ "dir", 'd', "FOLDER", 0,
	  "read source files below FOLDER: of /build/app/src/a.c, FOLDER/build/app/src/a.c, "
	  "FOLDER/app/src/a.c, FOLDER/src/a.c or FOLDER/a.c",
	  6 },
	{}
};

static const struct argp_child children[] = { { &selection_argp, 0, NULL, 0 },
					      { &connection_argp, 0, NULL, 0 },
					      { &width_argp, 0, NULL, 0 },
					      {} };

static const struct argp source_argp = {
	.options = options_of_source,
	.parser = parse,
	.args_doc = "[SERVICE] FUNCTION",
	.children = children,
	.doc = "Shows where a function spends its time: self is the value of its own code at a "
	       "line, total adds what the line called. The text of a line is shown if the file is "
	       "below --dir, was uploaded to the server, or has the same path on this machine.",
};

/* Texts of source files, which live until all are printed. */
VEC_DEFINE(source_bytes, struct bytes);

struct finder {
	struct client *client;
	const char *folder;
	struct source_bytes texts;
};

static void finder_release(struct finder *finder)
{
	for (size_t i = 0; i < finder->texts.count; i++)
		bytes_release(&finder->texts.items[i]);
	vec_release(&finder->texts);
}

/* The path is one of the debuginfo: it may also name a device. */
static bool read_local(const char *path, struct bytes *text)
{
	struct stat status;

	bytes_clear(text);
	return stat(path, &status) == 0 && S_ISREG(status.st_mode) && file_read(path, text) >= 0 &&
	       text->size > 0;
}

/* Tries the path and all its ends below the folder, the longest first. */
static bool read_below(const char *folder, const char *path, struct bytes *text)
{
	for (const char *rest = path; rest; rest = strchr(rest, '/')) {
		scoped_bytes struct bytes name = BYTES_INIT(MAX_PATH_BYTES);

		while (*rest == '/')
			rest++;
		(void)bytes_append_format(&name, "%s/%s", folder, rest);
		(void)bytes_append_byte(&name, '\0');
		if (*rest && bytes_error(&name) == 0 && read_local((const char *)name.data, text))
			return true;
	}
	return false;
}

/* Reads the file that was uploaded. Logs nothing: most are not. */
static bool read_uploaded(struct client *client, const char *build_id, const char *path,
			  struct bytes *text)
{
	scoped_bytes struct bytes name = BYTES_INIT(MAX_PATH_BYTES);
	scoped_bytes struct bytes escaped = BYTES_INIT(MAX_PATH_BYTES);
	struct client_request request = { .method = "GET" };
	struct client_answer answer = { .body = BYTES_INIT(MAX_SOURCE_BYTES) };
	bool found = false;

	if (!build_id[0] || path[0] != '/')
		return false;
	(void)bytes_append_format(&name, "/buildid/%s/source%s", build_id, path);
	(void)bytes_append_byte(&name, '\0');
	if (bytes_error(&name) == 0 &&
	    client_escape_path(client, &escaped, (const char *)name.data) == 0) {
		request.path = (const char *)escaped.data;
		found = client_exchange(client, &request, &answer) == 0 && answer.status == 200 &&
			answer.body.size > 0;
	}
	bytes_clear(text);
	if (found)
		(void)bytes_append(text, answer.body.data, answer.body.size);
	bytes_release(&answer.body);
	return found && bytes_error(text) == 0;
}

static struct bytes_view find_text(void *arg, const char *build_id, const char *path)
{
	struct finder *finder = arg;
	struct bytes text = BYTES_INIT(MAX_SOURCE_BYTES);

	if (((finder->folder && read_below(finder->folder, path, &text)) ||
	     read_uploaded(finder->client, build_id, path, &text) ||
	     (path[0] == '/' && read_local(path, &text))) &&
	    vec_push(&finder->texts, text) == 0)
		return bytes_view_of(&text);
	bytes_release(&text);
	return (struct bytes_view){};
}

static int make_path(struct client *client, const struct source_options *options,
		     struct bytes *path)
{
	const struct selection_options *selection = &options->selection;
	struct time_range_parameters range = time_range_parameters(&selection->range.range);

	return client_path(client, path, "/v1/source", "service",
			   selection->service ? selection->service : "", "function",
			   options->function, "event", event_type_name(selection->event), "filter",
			   selection->filter ? selection->filter : "", "inlines",
			   selection->no_inlines ? "false" : "true", "since", range.since, "until",
			   range.until, NULL);
}

static enum exit_code print_answer(struct client *client, const struct source_options *options,
				   const struct bytes *body)
{
	scoped(finder_release) struct finder finder = { .client = client,
							.folder = options->folder };
	scoped(json_freep) json_t *answer =
		json_loadb((const char *)body->data, body->size, 0, NULL);
	scoped_bytes struct bytes text = BYTES_INIT(MAX_TEXT_BYTES);
	const struct source_text_options layout = {
		.event = options->selection.event,
		.width = options->output.width > 0 ? (int)options->output.width
						   : terminal_of_stdout().width,
		.find = find_text,
		.find_arg = &finder,
	};
	int r = source_text_write(answer, &layout, &text);

	if (r < 0) {
		(void)log_error_errno(r, "cannot print the server's answer: %m");
		return EXIT_ERROR;
	}
	server_message_print_note(list_text(answer, "message"));
	return terminal_print(&text) < 0 ? EXIT_ERROR : EXIT_OK;
}

/* 404: no samples, or none with the function. */
static enum exit_code fetch_and_print(struct client *client, const struct source_options *options,
				      const char *path)
{
	const struct client_request request = { .method = "GET", .path = path };
	struct client_answer answer = { .body = BYTES_INIT(CLIENT_MAX_ANSWER_BYTES) };
	enum exit_code code = EXIT_ERROR;

	if (client_exchange(client, &request, &answer) == 0 && answer.status == 404) {
		(void)fprintf(stderr, "%s\n", answer.message);
		code = EXIT_NO_DATA;
	} else if (answer.status != 200) {
		log_error("%s", answer.message);
	} else if (options->connection.json) {
		(void)bytes_append_byte(&answer.body, '\n');
		code = terminal_print(&answer.body) < 0 ? EXIT_ERROR : EXIT_OK;
	} else {
		code = print_answer(client, options, &answer.body);
	}
	bytes_release(&answer.body);
	return code;
}

enum exit_code command_source(int argc, char **argv)
{
	scoped(client_freep) struct client *client = NULL;
	scoped_bytes struct bytes path = BYTES_INIT(MAX_PATH_BYTES);
	struct source_options options = {};
	int r;

	if (argp_parse(&source_argp, argc, argv, 0, NULL, &options) != 0)
		return EXIT_USAGE;
	if (client_new(&options.connection, &client) < 0)
		return EXIT_ERROR;
	r = make_path(client, &options, &path);
	if (r < 0) {
		(void)log_error_errno(r, "cannot write the request: %m");
		return EXIT_ERROR;
	}
	return fetch_and_print(client, &options, (const char *)path.data);
}
