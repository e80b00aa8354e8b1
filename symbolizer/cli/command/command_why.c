/* SPDX-License-Identifier: Apache-2.0 */

/* hearth why: lists the files whose code has no function names, with the reason and a remedy. */

#include <stdio.h>
#include <string.h>

#include "common/clock.h"
#include "common/executable_id.h"
#include "common/log.h"
#include "symbolizer/cli/client/list_answer.h"
#include "symbolizer/cli/client/server_message.h"
#include "symbolizer/cli/command/command.h"
#include "symbolizer/cli/list/unresolved_list.h"
#include "symbolizer/cli/list/unresolved_text.h"
#include "symbolizer/cli/print/printable.h"
#include "symbolizer/cli/print/scoped_json.h"
#include "symbolizer/cli/print/terminal.h"

#define DEFAULT_ROWS 10

#define MAX_TEXT_BYTES (256 * MIB)

struct why_options {
	struct connection_options connection;
	struct selection_options selection;
	const char *file;             /* path, name or prefix of a build-ID; NULL: all */
	struct output_options output; /* @rows is never 0 */
	bool all;                     /* all rows: --rows 0 */
};

static error_t parse(int key, char *text, struct argp_state *state)
{
	struct why_options *options = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &options->selection;
		state->child_inputs[1] = &options->connection;
		state->child_inputs[2] = &options->output;
		options->output.rows = DEFAULT_ROWS;
		return 0;
	case ARGP_KEY_ARG:
		if (options->file)
			argp_error(state, "give one file or build-ID; the service is --service");
		options->file = text;
		return 0;
	case 'n':
		options->output.rows = options_number(state, "--rows", text, UNRESOLVED_MAX_ROWS);
		options->all = options->output.rows == 0;
		if (options->all)
			options->output.rows = UNRESOLVED_MAX_ROWS;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_option rows_of_why[] = {
	{ "rows", 'n', "N", 0, "at most N files (10; 0: 1000), also with --json", 6 }, {}
};

static const struct argp_child children[] = { { &selection_argp, 0, NULL, 0 },
					      { &connection_argp, 0, NULL, 0 },
					      { &width_argp, 0, NULL, 0 },
					      {} };

static const struct argp why_argp = {
	.options = rows_of_why,
	.parser = parse,
	.args_doc = "[FILE|BUILD-ID]",
	.children = children,
	.doc = "Lists the files whose code has no names in a selection (all services without "
	       "--service), with the reason, and the command that helps. With a file or the "
	       "beginning of a build-ID: all that the server knows of it.",
};

static struct unresolved_text_options text_options(const struct why_options *options)
{
	return (struct unresolved_text_options){
		.selection = &options->selection,
		.width = options->output.width > 0 ? (int)options->output.width
						   : terminal_of_stdout().width,
		.all = options->all,
		.now_s = clock_wall_ns(&system_clock) / NSEC_PER_SEC,
	};
}

static int print_json(const json_t *root)
{
	scoped_bytes struct bytes text = BYTES_INIT(MAX_TEXT_BYTES);
	char *dump = json_dumps(root, JSON_COMPACT | JSON_ENSURE_ASCII);
	int r;

	if (!dump)
		return log_error_errno(-ENOMEM, "cannot print the answer: %m");
	/* jansson does not escape DEL, which is a control character for a terminal. */
	for (const char *next = dump; *next; next++) {
		if (*next == 0x7f)
			(void)bytes_append_text(&text, "\\u007f");
		else
			(void)bytes_append_byte(&text, (uint8_t)*next);
	}
	(void)bytes_append_byte(&text, '\n');
	free(dump);
	r = bytes_error(&text);
	return r < 0 ? log_error_errno(r, "cannot print the answer: %m") : terminal_print(&text);
}

static enum exit_code print_all(const struct why_options *options, const json_t *root)
{
	scoped_bytes struct bytes text = BYTES_INIT(MAX_TEXT_BYTES);
	const struct unresolved_text_options layout = text_options(options);

	if (list_number(root, "total") == 0) {
		server_message_print_no_data(list_text(root, "message"), options->selection.event);
		return EXIT_NO_DATA;
	}
	unresolved_list_write(root, &layout, &text);
	return terminal_print(&text) < 0 ? EXIT_ERROR : EXIT_OK;
}

/* ---- one file ------------------------------------------------------------------------------- */

/* Fetches the status of a build-ID. Logs an error and returns NULL. */
static json_t *fetch_status(struct client *client, const char *build_id)
{
	scoped_bytes struct bytes answer = BYTES_INIT(CLIENT_MAX_ANSWER_BYTES);
	scoped_bytes struct bytes path = BYTES_INIT(KIB);
	json_t *status = NULL;

	(void)bytes_append_format(&path, "/v1/debuginfo/%s/status", build_id);
	(void)bytes_append_byte(&path, '\0');
	if (bytes_error(&path) < 0 || client_get(client, (const char *)path.data, &answer) < 0)
		return NULL;
	status = json_loadb((const char *)answer.data, answer.size, 0, NULL);
	if (!json_is_object(status)) {
		log_error("the answer of the server to '%s' is not a JSON object",
			  (const char *)path.data);
		json_decref(status);
		return NULL;
	}
	return status;
}

/*
 * Removes all files from "files" but those that the user named, and adds their "status". Returns
 * their number, or logs an error and returns a negative errno.
 */
static int keep_named(struct client *client, const struct why_options *options, json_t *root)
{
	json_t *files = json_object_get(root, "files");
	json_t *kept = json_array();
	bool failed = false;

	for (size_t i = 0; i < json_array_size(files) && !failed; i++) {
		json_t *row = json_array_get(files, i);
		const char *build_id = list_text(row, "build_id");

		if (!unresolved_matches(row, options->file))
			continue;
		if (build_id[0]) {
			json_t *status = fetch_status(client, build_id);

			failed = !status;
			(void)json_object_set_new(row, "status", status);
		}
		(void)json_array_append(kept, row);
	}
	(void)json_object_set_new(root, "files", kept);
	return failed ? -EIO : (int)json_array_size(kept);
}

static void write_named(const json_t *root, const struct unresolved_text_options *layout,
			struct bytes *out)
{
	const json_t *files = json_object_get(root, "files");

	for (size_t i = 0; i < json_array_size(files); i++) {
		const json_t *row = json_array_get(files, i);

		unresolved_file_write(row, json_object_get(row, "status"), layout, out);
	}
}

/*
 * Returns the build-ID of the stored debuginfo that matches @file, or @file itself if it is a
 * build-ID of at least 8 bytes; NULL if neither. The caller frees it.
 */
static char *find_stored(struct client *client, const char *file)
{
	scoped_bytes struct bytes answer = BYTES_INIT(CLIENT_MAX_ANSWER_BYTES);
	scoped(json_freep) json_t *root = NULL;
	const json_t *rows;
	struct executable_id id;

	if (client_get(client, "/v1/debuginfo", &answer) < 0)
		return NULL;
	root = json_loadb((const char *)answer.data, answer.size, 0, NULL);
	rows = json_object_get(root, "debuginfo");
	for (size_t i = 0; i < json_array_size(rows); i++) {
		if (unresolved_matches(json_array_get(rows, i), file))
			return strdup(list_text(json_array_get(rows, i), "build_id"));
	}
	return executable_id_parse(file, &id) == 0 && id.size >= 8 ? strdup(file) : NULL;
}

/* Explains a file that has no code without names in the selection: all its code has names, or none
 * of it ran. */
static enum exit_code explain_other(struct client *client, const struct why_options *options,
				    json_t *root)
{
	scoped_bytes struct bytes text = BYTES_INIT(MAX_TEXT_BYTES);
	scoped_free char *build_id = find_stored(client, options->file);
	const struct unresolved_text_options layout = text_options(options);
	json_t *status; /* of the root, which releases it */

	if (!build_id) {
		(void)fprintf(stderr,
			      "'%s' has no code without names in this selection; 'hearth why' "
			      "lists the files that have some\n",
			      options->file);
		return EXIT_NO_DATA;
	}
	status = fetch_status(client, build_id);
	if (!status || json_object_set_new(root, "status", status) < 0)
		return EXIT_ERROR;
	if (options->connection.json)
		return print_json(root) < 0 ? EXIT_ERROR : EXIT_OK;
	(void)printable_append(
		&text, list_text(status, "file")[0] ? list_text(status, "file") : build_id, -1);
	(void)bytes_append_format(&text, ": no code without names in this selection\n");
	(void)bytes_append_format(&text, "  build-ID %s\n", build_id);
	unresolved_status_write(status, &layout, &text);
	return terminal_print(&text) < 0 ? EXIT_ERROR : EXIT_OK;
}

static enum exit_code explain_file(struct client *client, const struct why_options *options,
				   json_t *root)
{
	scoped_bytes struct bytes text = BYTES_INIT(MAX_TEXT_BYTES);
	const struct unresolved_text_options layout = text_options(options);
	int count = keep_named(client, options, root);

	if (count < 0)
		return EXIT_ERROR;
	if (count == 0)
		return explain_other(client, options, root);
	if (options->connection.json)
		return print_json(root) < 0 ? EXIT_ERROR : EXIT_OK;
	write_named(root, &layout, &text);
	return terminal_print(&text) < 0 ? EXIT_ERROR : EXIT_OK;
}

enum exit_code command_why(int argc, char **argv)
{
	scoped(client_freep) struct client *client = NULL;
	scoped(json_freep) json_t *root = NULL;
	struct why_options options = {};
	int r;

	if (argp_parse(&why_argp, argc, argv, 0, NULL, &options) != 0)
		return EXIT_USAGE;
	if (client_new(&options.connection, &client) < 0)
		return EXIT_ERROR;
	r = unresolved_fetch(client, &options.selection,
			     options.file ? UNRESOLVED_MAX_ROWS : options.output.rows, &root);
	if (r < 0)
		return exit_code_of_error(r);
	if (options.file)
		return explain_file(client, &options, root);
	if (options.connection.json)
		return print_json(root) < 0 ? EXIT_ERROR : EXIT_OK;
	return print_all(&options, root);
}
