/* SPDX-License-Identifier: Apache-2.0 */

/* hearth export: writes a profile as a file for other programs. */

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "common/file.h"
#include "common/log.h"
#include "symbolizer/cli/client/server_message.h"
#include "symbolizer/cli/command/command.h"
#include "symbolizer/cli/list/service_choice.h"
#include "symbolizer/cli/print/terminal.h"
#include "symbolizer/cli/profile/profile_request.h"

#define MAX_PATH_BYTES (64 * KIB)
#define FILE_MODE      0644

/*
 * Requests are repeated while the server makes symbol tables, because a file keeps the names that
 * it has. Each request waits for them for up to three seconds.
 */
#define MAX_REPEATS 5

struct format {
	const char *name;
	const char *suffix;
	bool binary;
};

static const struct format formats[] = {
#define EXPORT_FORMAT(id, format_name, type, file_suffix, is_binary, help)                         \
	{ .name = format_name, .suffix = "." file_suffix, .binary = is_binary },
#include "common/export_formats.def"
#undef EXPORT_FORMAT
};

static const char format_names[] =
#define EXPORT_FORMAT(id, name, ...) ", " name
#include "common/export_formats.def"
#undef EXPORT_FORMAT
	;

struct export_options {
	struct connection_options connection;
	struct selection_options selection;
	const struct format *format;
	const char *file; /* NULL: standard output */
};

static const struct format *format_of_name(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(formats); i++)
		if (strcmp(formats[i].name, name) == 0)
			return &formats[i];
	return NULL;
}

/* Returns the format with the longest suffix that the file has; NULL: none. */
static const struct format *format_of_file(const char *file)
{
	const struct format *found = NULL;
	size_t length = strlen(file);

	for (size_t i = 0; i < ARRAY_SIZE(formats); i++) {
		size_t suffix = strlen(formats[i].suffix);

		if (length > suffix && strcmp(file + length - suffix, formats[i].suffix) == 0 &&
		    (!found || suffix > strlen(found->suffix)))
			found = &formats[i];
	}
	return found;
}

/* Checks the options together, after all have been read. */
static void check(struct export_options *options, const struct argp_state *state)
{
	if (!options->format && options->connection.json)
		options->format = format_of_name("json");
	if (!options->format && options->file)
		options->format = format_of_file(options->file);
	if (!options->format)
		argp_error(state,
			   "give --format, or a FILE with the suffix of a format; there are %s",
			   format_names + strlen(", "));
	else if (options->format->binary && !options->file && terminal_of_stdout().is_terminal)
		argp_error(state, "%s is binary: give -o FILE, or redirect the output",
			   options->format->name);
}

static error_t parse(int key, char *text, struct argp_state *state)
{
	struct export_options *options = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &options->selection;
		state->child_inputs[1] = &options->connection;
		state->child_inputs[2] = &options->selection; /* of --by */
		return 0;
	case 'F':
		options->format = format_of_name(text);
		if (!options->format)
			argp_error(state, "--format '%.40s' is unknown; there are %s", text,
				   format_names + strlen(", "));
		return 0;
	case 'o':
		options->file = strcmp(text, "-") == 0 ? NULL : text;
		return 0;
	case ARGP_KEY_END:
		check(options, state);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_option rows[] = {
	{ NULL, 0, NULL, 0, "Output:", 6 },
	{ "format", 'F', "FORMAT", 0, "the format of the file (that of the suffix of FILE)", 6 },
	{ "output", 'o', "FILE", 0, "write FILE (standard output)", 6 },
	{}
};

static const struct argp_child children[] = { { &selection_argp, 0, NULL, 0 },
					      { &connection_argp, 0, NULL, 0 },
					      { &by_argp, 0, NULL, 0 },
					      {} };

static const struct argp export_argp = { .options = rows,
					 .parser = parse,
					 .args_doc = "[SERVICE]",
					 .children = children,
					 .doc = "Writes a profile as a file for other programs.\v"
						"The formats, with the suffixes of their files:\n"
#define EXPORT_FORMAT(id, name, type, suffix, binary, help) "\n  " name " (." suffix "): " help
#include "common/export_formats.def"
#undef EXPORT_FORMAT
};

/* Returns 1 with the file, 0 if there are no data, or a negative errno. */
static int fetch(struct client *client, const struct export_options *options,
		 struct client_download *download)
{
	const struct timespec nap = { .tv_nsec = 500 * 1000 * 1000 };
	scoped_bytes struct bytes path = BYTES_INIT(MAX_PATH_BYTES);
	int r = profile_export_path_write(client, &options->selection, options->format->name,
					  &path);

	if (r < 0)
		return log_error_errno(r, "cannot write the request: %m");
	for (int i = 0;; i++) {
		r = client_get_download(client, (const char *)path.data, download);
		if (r <= 0 || download->n_tables_pending == 0 || i == MAX_REPEATS)
			return r;
		bytes_release(&download->body);
		(void)nanosleep(&nap, NULL);
	}
}

static enum exit_code write_file(const struct export_options *options,
				 const struct client_download *download)
{
	int r;

	if (download->n_tables_pending > 0)
		(void)fprintf(stderr,
			      "note: names are missing: the server still makes the symbol tables "
			      "of %u executables; export again in a moment\n",
			      download->n_tables_pending);
	if (!options->file)
		return terminal_print(&download->body) < 0 ? EXIT_ERROR : EXIT_OK;
	r = file_replace(options->file, download->body.data, download->body.size, FILE_MODE);
	if (r < 0) {
		(void)log_error_errno(r, "cannot write '%s': %m", options->file);
		return EXIT_ERROR;
	}
	return EXIT_OK;
}

enum exit_code command_export(int argc, char **argv)
{
	struct client_download download = { .body = BYTES_INIT(0) };
	scoped(client_freep) struct client *client = NULL;
	struct export_options options = { .selection.takes_any_event = true };
	enum exit_code code;
	int r;

	if (argp_parse(&export_argp, argc, argv, 0, NULL, &options) != 0)
		return EXIT_USAGE;
	if (client_new(&options.connection, &client) < 0)
		return EXIT_ERROR;
	if (!selection_is_given(&options.selection))
		return service_choice_print(client, &options.selection.range.range, argv[0]);
	r = fetch(client, &options, &download);
	if (r > 0) {
		code = write_file(&options, &download);
	} else if (r == 0) {
		server_message_print_no_data(download.message, options.selection.event);
		code = EXIT_NO_DATA;
	} else {
		code = exit_code_of_error(r);
	}
	bytes_release(&download.body);
	return code;
}
