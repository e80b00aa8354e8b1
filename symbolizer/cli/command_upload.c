/* SPDX-License-Identifier: Apache-2.0 */

/*
 * hearth upload: ELF files to the server under their identity. A build pipeline may give everything
 * that it built: what is no ELF file, or has no identity, is skipped with a word.
 */

#include <inttypes.h>
#include <stdio.h>

#include "common/log.h"
#include "symbolizer/cli/command.h"
#include "symbolizer/cli/human.h"
#include "symbolizer/cli/upload_pool.h"

#define DEFAULT_JOBS 4
#define MAX_JOBS     32

enum option_key {
	KEY_FORCE = 0x200,
	KEY_SOURCES_OF,
	KEY_SPLIT_OF,
};

struct upload_options {
	struct connection_options connection;
	bool recursive;
	bool force;
	uint32_t jobs;
	const char *sources_of;
	struct executable_id source_id;
	const char *split_of;
	struct executable_id split_id;
	char **files;
	int n_files;
};

static error_t parse(int key, char *text, struct argp_state *state)
{
	struct upload_options *options = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		options->jobs = DEFAULT_JOBS;
		state->child_inputs[0] = &options->connection;
		return 0;
	case 'r':
		options->recursive = true;
		return 0;
	case 'P':
		options->jobs = options_number(state, "--parallel", text, MAX_JOBS);
		return 0;
	case KEY_FORCE:
		options->force = true;
		return 0;
	case KEY_SOURCES_OF:
		options->sources_of = text;
		if (executable_id_parse(text, &options->source_id) < 0)
			argp_error(state, "--sources-of '%.40s' is no build-ID", text);
		return 0;
	case KEY_SPLIT_OF:
		options->split_of = text;
		if (executable_id_parse(text, &options->split_id) < 0)
			argp_error(state, "--split-of '%.40s' is no build-ID", text);
		return 0;
	case ARGP_KEY_ARGS:
		options->files = state->argv + state->next;
		options->n_files = state->argc - state->next;
		return 0;
	case ARGP_KEY_NO_ARGS:
		argp_error(state, "name the files to upload");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_option rows[] = {
	{ "recursive", 'r', NULL, 0, "take all files of a folder, such as /usr/lib/debug", 0 },
	{ "parallel", 'P', "N", 0, "so many files at a time (4)", 0 },
	{ "force", KEY_FORCE, NULL, 0, "send also what the server seems to have", 0 },
	{ "sources-of", KEY_SOURCES_OF, "BUILD-ID", 0,
	  "the files are source files of this program, under their absolute paths", 0 },
	{ "split-of", KEY_SPLIT_OF, "BUILD-ID", 0,
	  "the files are split DWARF of this program (else PROGRAM.dwp lies beside PROGRAM)", 0 },
	{}
};

static const struct argp_child children[] = { { &connection_argp, 0, NULL, 0 }, {} };

static const struct argp upload_argp = {
	.options = rows,
	.parser = parse,
	.args_doc = "FILE...",
	.children = children,
	.doc = "Uploads executables, libraries or debug files under their build-ID, so that their "
	       "functions get names, also in samples that were taken before. What the server has "
	       "is not sent again; what was interrupted goes on where it was.",
};

static int collect(const struct upload_options *options, struct upload_list *list)
{
	for (int i = 0; i < options->n_files; i++) {
		int r = upload_list_add(list, options->files[i], options->recursive);

		if (r < 0)
			return r;
	}
	return 0;
}

static void print_totals(const struct upload_totals *totals)
{
	char bytes[HUMAN_SIZE];

	human_bytes(totals->bytes_done, bytes);
	(void)fprintf(stderr,
		      "%" PRIu64 " uploaded (%s), %" PRIu64 " not needed, %" PRIu64
		      " skipped, %" PRIu64 " failed\n",
		      totals->n_files[UPLOAD_DONE], bytes, totals->n_files[UPLOAD_NOT_NEEDED],
		      totals->n_files[UPLOAD_SKIPPED], totals->n_files[UPLOAD_FAILED]);
}

static enum exit_code exit_code_of(const struct upload_totals *totals)
{
	if (totals->n_files[UPLOAD_FAILED] > 0)
		return EXIT_ERROR;
	return totals->n_files[UPLOAD_DONE] + totals->n_files[UPLOAD_NOT_NEEDED] > 0 ? EXIT_OK
										     : EXIT_NO_DATA;
}

enum exit_code command_upload(int argc, char **argv)
{
	scoped(upload_list_release) struct upload_list list = {};
	struct upload_options options = {};
	struct upload_totals totals = {};
	struct upload_settings settings = { .at_once_bytes = UPLOAD_AT_ONCE_BYTES,
					    .piece_bytes = UPLOAD_PIECE_BYTES,
					    .first_wait_ns = UPLOAD_FIRST_WAIT_NS };

	if (argp_parse(&upload_argp, argc, argv, 0, NULL, &options) != 0)
		return EXIT_USAGE;
	settings.force = options.force;
	settings.source_of = options.sources_of ? &options.source_id : NULL;
	settings.split_of = options.split_of ? &options.split_id : NULL;
	if (collect(&options, &list) < 0 ||
	    upload_all(&options.connection, &settings, &list, options.jobs, &totals) < 0)
		return EXIT_ERROR;
	if (list.count == 0)
		(void)fprintf(stderr, "there is no file in what was named\n");
	else if (list.count > 1)
		print_totals(&totals);
	return exit_code_of(&totals);
}
