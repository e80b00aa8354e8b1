/* SPDX-License-Identifier: Apache-2.0 */

/*
 * hearth upload: ELF files to the server under their identity. A build pipeline may give everything
 * that it built: what is no ELF file, or has no identity, is skipped with a word.
 */

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

#include "common/elf/build_id.h"
#include "common/log.h"
#include "symbolizer/cli/client.h"
#include "symbolizer/cli/command.h"
#include "symbolizer/cli/human.h"
#include "symbolizer/cli/json_text.h"

struct upload_options {
	struct connection_options connection;
	char **files;
	int n_files;
};

static error_t parse(int key, char *text, struct argp_state *state)
{
	struct upload_options *options = state->input;

	(void)text;
	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &options->connection;
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

static const struct argp_child children[] = { { &connection_argp, 0, NULL, 0 }, {} };

static const struct argp upload_argp = {
	.parser = parse,
	.args_doc = "FILE...",
	.children = children,
	.doc = "Uploads executables, libraries or debug files under their build-ID, so that their "
	       "functions get names, "
	       "also in samples that were taken before.",
};

/* 1 *ret_id is the file's identity, 0 it has none (said), negative errno after a message. */
static int identify(const char *path, int fd, struct executable_id *ret_id)
{
	scoped(elf_file_freep) struct elf_file *elf = NULL;
	int r = elf_file_open(fd, &elf);

	if (r == -ENOEXEC || r == -ENOTSUP) {
		(void)fprintf(stderr, "skipped '%s': %s\n", path,
			      r == -ENOEXEC ? "no ELF file" : "no 64-bit little-endian ELF file");
		return 0;
	}
	if (r == 0)
		r = build_id_from_elf(elf, ret_id);
	if (r < 0)
		return log_error_errno(r, "cannot read '%s': %m", path);
	if (r == 0)
		(void)fprintf(stderr,
			      "skipped '%s': it has no build-ID (link it with -Wl,--build-id)\n",
			      path);
	return r;
}

static void print_outcome(const struct connection_options *options, const char *path,
			  const char *id, uint64_t size, const struct bytes *answer)
{
	scoped(json_freep) json_t *root =
		json_loadb((const char *)answer->data, answer->size, 0, NULL);
	bool stored = json_is_true(json_object_get(root, "stored"));
	const char *message = json_string_value(json_object_get(root, "message"));
	char text[HUMAN_SIZE];

	if (options->json) {
		(void)printf("%.*s\n", (int)answer->size, (const char *)answer->data);
		return;
	}
	human_bytes(size, text);
	if (stored)
		(void)printf("uploaded '%s' (%s, build-ID %s)\n", path, text, id);
	else
		(void)printf("'%s' (build-ID %s) was not needed: %s\n", path, id,
			     message ? message : "the server has as good");
}

/* 1 uploaded, 0 skipped, negative errno after a message. */
static int upload_file(struct client *client, const struct connection_options *options,
		       const char *path)
{
	scoped_bytes struct bytes answer = BYTES_INIT(MIB);
	scoped_bytes struct bytes url_path = BYTES_INIT(KIB);
	char id_text[EXECUTABLE_ID_TEXT_SIZE];
	struct executable_id id;
	struct stat status;
	scoped_fd int fd = -1;
	int r;

	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0 || fstat(fd, &status) < 0)
		return log_error_errno(errno, "cannot open '%s': %m", path);
	if (!S_ISREG(status.st_mode)) {
		(void)fprintf(stderr, "skipped '%s': no regular file\n", path);
		return 0;
	}
	r = identify(path, fd, &id);
	if (r <= 0)
		return r;

	executable_id_format(&id, id_text);
	(void)bytes_append_format(&url_path, "/v1/debuginfo/%s", id_text);
	(void)bytes_append_byte(&url_path, '\0');
	r = client_put_file(client, (const char *)url_path.data, fd, (uint64_t)status.st_size,
			    &answer);
	if (r < 0)
		return log_error_errno(r, "'%s' was not uploaded", path);
	print_outcome(options, path, id_text, (uint64_t)status.st_size, &answer);
	return 1;
}

enum exit_code command_upload(int argc, char **argv)
{
	scoped(client_freep) struct client *client = NULL;
	struct upload_options options = {};
	int n_uploaded = 0, n_failed = 0;

	if (argp_parse(&upload_argp, argc, argv, 0, NULL, &options) != 0)
		return EXIT_USAGE;
	if (client_new(&options.connection, &client) < 0)
		return EXIT_ERROR;

	for (int i = 0; i < options.n_files; i++) {
		int r = upload_file(client, &options.connection, options.files[i]);

		n_uploaded += r > 0;
		n_failed += r < 0;
	}
	if (n_failed > 0)
		return EXIT_ERROR;
	return n_uploaded > 0 ? EXIT_OK : EXIT_NO_DATA;
}
