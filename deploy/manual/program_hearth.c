/* SPDX-License-Identifier: Apache-2.0 */
/*
 * manual-hearth FOLDER DATE: writes the manual pages and completions of `hearth`.
 */

#include <stdio.h>
#include <stdlib.h>

#include "common/log.h"
#include "deploy/manual/program.h"
#include "symbolizer/cli/command/command.h"
#include "symbolizer/cli/options/options.h"

struct row {
	const char *name;
	enum exit_code (*run)(int argc, char **argv);
	const char *summary;
};

static const struct row rows[] = {
#define COMMAND(name_, run_, summary_) { .name = name_, .run = run_, .summary = summary_ },
#include "symbolizer/cli/command/commands.def"
#undef COMMAND
};

static const struct manual_example examples[] = {
#define EXAMPLE(line_, what_) { .line = line_, .what = what_ },
#include "symbolizer/cli/command/examples.def"
#undef EXAMPLE
};

static const struct manual_exit_status exit_statuses[] = {
#define EXIT_CODE(id, number, meaning_) { .status = number, .meaning = meaning_ },
#include "symbolizer/cli/options/exit_codes.def"
#undef EXIT_CODE
};

/* The program defines these two commands next to main(). They have no options. */
enum exit_code command_help(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	return EXIT_OK;
}

enum exit_code command_version(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	return EXIT_OK;
}

static void parse_arguments(const void *arg)
{
	const struct row *row = arg;
	char name[] = "hearth";
	char *argv[] = { name, NULL };

	(void)row->run(1, argv);
}

static int capture_command(const struct row *row, struct manual_command *command)
{
	int r = option_list_capture(parse_arguments, row, &command->options);

	command->name = row->name;
	command->summary = row->summary;
	command->has_options = r == 0;
	return r == -ENOENT ? 0 : r;
}

int main(int argc, char **argv)
{
	static const struct argp_child common[] = { { &range_argp, 0, NULL, 0 },
						    { &connection_argp, 0, NULL, 0 },
						    {} };
	static const struct argp of_most = {
		.doc = "Queries a hearth-symbolizer from a terminal or a script: what uses the "
		       "CPUs of a fleet, and where a service spends its time or waits.",
		.children = common,
	};
	struct manual_command commands[ARRAY_SIZE(rows)] = {};
	struct manual_program program = {
		.name = "hearth",
		.summary = "queries a server for the profiles of a fleet",
		.section = '1',
		.commands = commands,
		.n_commands = ARRAY_SIZE(rows),
		.examples = examples,
		.n_examples = ARRAY_SIZE(examples),
		.exit_statuses = exit_statuses,
		.n_exit_statuses = ARRAY_SIZE(exit_statuses),
	};
	int status = EXIT_FAILURE;
	int r;

	if (argc != 3) {
		(void)fprintf(stderr, "usage: %s FOLDER DATE\n", argv[0]);
		return EXIT_FAILURE;
	}
	r = option_list_of_table(&of_most, &program.options);
	for (size_t i = 0; i < ARRAY_SIZE(rows) && r == 0; i++)
		r = capture_command(&rows[i], &commands[i]);
	if (r < 0)
		(void)log_error_errno(r, "cannot read the tables of options: %m");
	else
		status = write_manual(&program, argv[1], argv[2]);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		option_list_release(&commands[i].options);
	option_list_release(&program.options);
	return status;
}
