/* SPDX-License-Identifier: Apache-2.0 */

/*
 * hearth upload: uploads ELF files under their build-ID. A build pipeline may name everything that
 * it built: files that are not ELF, or have no build-ID, are skipped with a message.
 */

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/file.h"
#include "common/log.h"
#include "symbolizer/cli/command/command.h"
#include "symbolizer/cli/print/number_format.h"
#include "symbolizer/cli/upload/dwarf_pack.h"
#include "symbolizer/cli/upload/upload_pool.h"

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
		options->jobs = options_number_from(state, "--parallel", text, 1, MAX_JOBS);
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
	case ARGP_KEY_ARG:
		/* Take all remaining arguments: argp has moved the options before them. */
		options->files = state->argv + state->next - 1;
		options->n_files = state->argc - state->next + 1;
		state->next = state->argc;
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
	{ "parallel", 'P', "N", 0, "upload N files at the same time (4)", 0 },
	{ "force", KEY_FORCE, NULL, 0, "send also what the server seems to have", 0 },
	{ "sources-of", KEY_SOURCES_OF, "BUILD-ID", 0,
	  "the files are source files of this program, under their absolute paths", 0 },
	{ "split-of", KEY_SPLIT_OF, "BUILD-ID", 0,
	  "the files are split DWARF of this program: a .dwp, or all of its .dwo (not needed for "
	  "PROGRAM.dwp beside PROGRAM)",
	  0 },
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
	       "is not sent again; an interrupted upload continues where it stopped.",
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

static bool is_dwo(const char *path)
{
	const size_t length = strlen(path);

	return length > 4 && strcmp(path + length - 4, ".dwo") == 0;
}

/* The temporary .dwp made of the .dwo files; removed when the command ends. */
struct packed_split {
	char path[4096]; /* "": none */
};

static void packed_split_release(struct packed_split *packed)
{
	if (packed->path[0])
		(void)unlink(packed->path);
}

static int write_package(struct packed_split *packed, const struct bytes *package)
{
	const char *folder = getenv("TMPDIR");
	scoped_fd int fd = -1;

	(void)snprintf(packed->path, sizeof(packed->path), "%s/hearth-XXXXXX.dwp",
		       folder ? folder : "/tmp");
	fd = mkostemps(packed->path, 4, O_CLOEXEC);
	if (fd < 0) {
		int r = -errno;

		packed->path[0] = '\0';
		return r;
	}
	return write_all(fd, package->data, package->size);
}

/* Moves the paths of the .dwo files from @list to @ret_paths, and returns their number. */
static size_t take_dwo(struct upload_list *list, char **ret_paths)
{
	size_t kept = 0, taken = 0;

	for (size_t i = 0; i < list->count; i++) {
		if (is_dwo(list->items[i].path))
			ret_paths[taken++] = list->items[i].path;
		else
			list->items[kept++] = list->items[i];
	}
	list->count = kept;
	return taken;
}

/*
 * Packs the .dwo files of @list, because the server stores one file of split DWARF per program. If
 * a single .dwo cannot be packed, it is uploaded unchanged.
 */
static int pack_split(struct upload_list *list, struct packed_split *packed)
{
	scoped_free char **paths = calloc(list->count + 1, sizeof(*paths));
	scoped_bytes struct bytes package = BYTES_INIT(2 * DWARF_PACK_MAX_BYTES);
	char message[DWARF_PACK_MESSAGE_SIZE];
	size_t n_paths;
	int r;

	if (!paths)
		return -ENOMEM;
	n_paths = take_dwo(list, paths);
	r = dwarf_pack((const char *const *)paths, n_paths, &package, message);
	if (r == -ENOTSUP && n_paths == 1) {
		message[0] = '\0';
		r = upload_list_add(list, paths[0], false);
	} else if (r == 0) {
		r = write_package(packed, &package);
		if (r == 0)
			r = upload_list_add(list, packed->path, false);
	}
	for (size_t i = 0; i < n_paths; i++)
		free(paths[i]);
	if (r < 0 && message[0])
		log_error("%s", message);
	else if (r < 0)
		(void)log_error_errno(r, "cannot pack the .dwo files: %m");
	return r;
}

static bool has_dwo(const struct upload_list *list)
{
	for (size_t i = 0; i < list->count; i++) {
		if (is_dwo(list->items[i].path))
			return true;
	}
	return false;
}

static void print_totals(const struct upload_totals *totals)
{
	char bytes[NUMBER_TEXT_SIZE];

	format_bytes(totals->bytes_done, bytes);
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
	scoped(packed_split_release) struct packed_split packed = {};
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
	if (collect(&options, &list) < 0)
		return EXIT_ERROR;
	if (settings.split_of && has_dwo(&list) && pack_split(&list, &packed) < 0)
		return EXIT_ERROR;
	if (upload_all(&options.connection, &settings, &list, options.jobs, &totals) < 0)
		return EXIT_ERROR;
	if (list.count == 0)
		(void)fprintf(stderr, "there are no files in the named folders\n");
	else if (list.count > 1)
		print_totals(&totals);
	return exit_code_of(&totals);
}
