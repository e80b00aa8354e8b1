/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>

#include "common/file.h"
#include "common/log.h"
#include "common/scoped.h"
#include "deploy/manual/program.h"

/* Size of a file. The longest page has a tenth of this. */
#define MAX_FILE_BYTES ((size_t)MIB)

#define MAX_PATH_BYTES 4096

/* Writes FOLDER/KIND/NAME. */
static int write_file(const char *folder, const char *kind, const char *name,
		      const struct bytes *content)
{
	char path[MAX_PATH_BYTES];
	int r = bytes_error(content);

	(void)snprintf(path, sizeof(path), "%s/%s", folder, kind);
	if (r == 0)
		r = make_folders(path, 0755);
	(void)snprintf(path, sizeof(path), "%s/%s/%s", folder, kind, name);
	if (r == 0)
		r = file_replace(path, content->data, content->size, 0644);
	return r < 0 ? log_error_errno(r, "cannot write '%s': %m", path) : 0;
}

static int write_program_page(const struct manual_program *program, const char *folder,
			      const char *date)
{
	scoped(bytes_release) struct bytes page = BYTES_INIT(MAX_FILE_BYTES);
	char kind[] = "manN";
	char name[64];

	kind[3] = program->section;
	(void)snprintf(name, sizeof(name), "%s.%c", program->name, program->section);
	print_program_page(program, date, &page);
	return write_file(folder, kind, name, &page);
}

static int write_command_page(const struct manual_program *program,
			      const struct manual_command *command, const char *folder,
			      const char *date)
{
	scoped(bytes_release) struct bytes page = BYTES_INIT(MAX_FILE_BYTES);
	char name[64];

	(void)snprintf(name, sizeof(name), "%s-%s.1", program->name, command->name);
	print_command_page(program, command, date, &page);
	return write_file(folder, "man1", name, &page);
}

static int write_config_page(const struct manual_program *program, const char *folder,
			     const char *date)
{
	scoped(bytes_release) struct bytes page = BYTES_INIT(MAX_FILE_BYTES);
	char name[64];

	(void)snprintf(name, sizeof(name), "%s.yaml.5", program->name);
	print_config_page(program, date, &page);
	return write_file(folder, "man5", name, &page);
}

static int write_completions(const struct manual_program *program, const char *folder)
{
	scoped(bytes_release) struct bytes bash = BYTES_INIT(MAX_FILE_BYTES);
	scoped(bytes_release) struct bytes zsh = BYTES_INIT(MAX_FILE_BYTES);
	char name[64];
	int r;

	print_bash_completion(program, &bash);
	r = write_file(folder, "bash", program->name, &bash);
	if (r < 0)
		return r;
	(void)snprintf(name, sizeof(name), "_%s", program->name);
	print_zsh_completion(program, &zsh);
	return write_file(folder, "zsh", name, &zsh);
}

int write_manual(const struct manual_program *program, const char *folder, const char *date)
{
	int r = write_program_page(program, folder, date);

	for (size_t i = 0; i < program->n_commands && r == 0; i++) {
		if (program->commands[i].has_options)
			r = write_command_page(program, &program->commands[i], folder, date);
	}
	if (r == 0 && program->config)
		r = write_config_page(program, folder, date);
	if (r == 0)
		r = write_completions(program, folder);
	return r < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

int manual_main(int argc, char **argv, struct manual_program *program,
		void (*parse)(const void *arg))
{
	int status = EXIT_FAILURE;
	int r;

	if (argc != 3) {
		(void)fprintf(stderr, "usage: %s FOLDER DATE\n", argv[0]);
		return EXIT_FAILURE;
	}
	r = option_list_capture(parse, NULL, &program->options);
	if (r < 0)
		(void)log_error_errno(r, "cannot read the table of options: %m");
	else
		status = write_manual(program, argv[1], argv[2]);
	option_list_release(&program->options);
	return status;
}
