/* SPDX-License-Identifier: Apache-2.0 */

/*
 * hearth: queries a hearth-symbolizer from a terminal or a script. The first argument names the
 * command, which parses all further arguments.
 */

#include <argp.h>
#include <curl/curl.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base.h"
#include "common/did_you_mean.h"
#include "symbolizer/cli/command/command.h"
#include "symbolizer/cli/options/option_hyphens.h"

/* "hearth NAME", which argp prints as the name of the program. */
#define COMMAND_LINE_SIZE 64

struct command {
	const char *name;
	const char *line;
	enum exit_code (*run)(int argc, char **argv);
	const char *summary;
};

static const struct command commands[] = {
#define COMMAND(name_, run_, summary_)                                                             \
	{ .name = name_, .line = "hearth " name_, .run = run_, .summary = summary_ },
#include "symbolizer/cli/command/commands.def"
#undef COMMAND
};

static const struct command *find_command(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++) {
		if (strcmp(commands[i].name, name) == 0)
			return &commands[i];
	}
	return NULL;
}

static enum exit_code refuse_command(const char *name)
{
	const char *nearest = NULL;
	/* With more than half of the letters wrong, a name is not suggested. */
	unsigned int least = (unsigned int)strnlen(name, DID_YOU_MEAN_MAX_BYTES) / 2 + 1;

	for (size_t i = 0; i < ARRAY_SIZE(commands); i++) {
		unsigned int distance = name_distance(name, commands[i].name);

		if (distance < least) {
			least = distance;
			nearest = commands[i].name;
		}
	}
	(void)fprintf(stderr, "hearth: '%.40s' is no command", name);
	if (nearest)
		(void)fprintf(stderr, "; did you mean '%s'?", nearest);
	(void)fprintf(stderr, "%s 'hearth help' lists all\n", nearest ? "" : ";");
	return EXIT_USAGE;
}

static enum exit_code run_command(const struct command *command, int argc, char **argv)
{
	char line[COMMAND_LINE_SIZE];

	(void)snprintf(line, sizeof(line), "%s", command->line);
	argv[0] = line;
	option_hyphens_replace(argc, argv);
	return command->run(argc, argv);
}

static void print_overview(FILE *stream)
{
	(void)fprintf(stream, "usage: hearth COMMAND [OPTION...]\n\n");
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
		(void)fprintf(stream, "  %-11s %s\n", commands[i].name, commands[i].summary);
}

static void print_examples(void)
{
	static const struct {
		const char *line;
		const char *what;
	} examples[] = {
#define EXAMPLE(line_, what_) { .line = line_, .what = what_ },
#include "symbolizer/cli/command/examples.def"
#undef EXAMPLE
	};

	(void)printf("\nExamples:\n");
	for (size_t i = 0; i < ARRAY_SIZE(examples); i++)
		(void)printf("  %-45s %s\n", examples[i].line, examples[i].what);
}

static void print_exit_codes(void)
{
	(void)printf("\nExit status:\n");
#define EXIT_CODE(name, number, meaning) (void)printf("  %d  %s\n", number, meaning);
#include "symbolizer/cli/options/exit_codes.def"
#undef EXIT_CODE
}

static void print_manual(void)
{
	print_overview(stdout);
	(void)printf(
		"\n"
		"'hearth help COMMAND' lists the options of one. Most take these:\n"
		"\n"
		"  --server URL          the server, else HEARTH_SERVER, else "
		"http://127.0.0.1:20416\n"
		"  --token-file FILE     the token that it requires; or HEARTH_TOKEN_FILE, "
		"HEARTH_TOKEN, --token\n"
		"  SERVICE, --service    what to look at; Total is every process of every host\n"
		"  --event TYPE          on-cpu (default), off-cpu, run-queue\n"
		"  --filter EXPRESSION   tags: \"host = 'web-1' AND thread NOT LIKE 'gc*'\"\n"
		"  --last DURATION       the last 5m, 2h, 7d ... (default 15m)\n"
		"  --since, --until TIME 03:12, yesterday, '10m ago', '2026-08-21 09:30'\n"
		"  --json                the server's answer as it is, for scripts\n");
	print_examples();
	print_exit_codes();
}

enum exit_code command_help(int argc, char **argv)
{
	const struct command *command = argc > 1 ? find_command(argv[1]) : NULL;
	char help[] = "--help";
	char *help_argv[] = { argv[0], help, NULL };

	if (argc > 1 && !command)
		return refuse_command(argv[1]);
	if (command && command->run != command_help)
		return run_command(command, 2, help_argv);
	print_manual();
	return EXIT_OK;
}

enum exit_code command_version(int argc, char **argv)
{
	(void)argv;
	if (argc > 1 && strcmp(argv[1], "--help") != 0) {
		(void)fprintf(stderr, "hearth: version takes no arguments\n");
		return EXIT_USAGE;
	}
	(void)printf("hearth %s\n", HEARTH_VERSION);
	return EXIT_OK;
}

/* Options of many other programs, and the commands that they stand for. */
static const char *command_of_option(const char *word)
{
	if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0)
		return "help";
	if (strcmp(word, "--version") == 0 || strcmp(word, "-V") == 0)
		return "version";
	return word;
}

int main(int argc, char **argv)
{
	const struct command *command;
	enum exit_code status;

	(void)setlocale(LC_ALL, "");
	(void)signal(SIGPIPE, SIG_IGN);
	argp_err_exit_status = EXIT_USAGE;
	if (argc < 2) {
		print_overview(stderr);
		return EXIT_USAGE;
	}

	command = find_command(command_of_option(argv[1]));
	if (!command)
		return refuse_command(argv[1]);
	if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
		return EXIT_ERROR;
	status = run_command(command, argc - 1, argv + 1);
	curl_global_cleanup();
	return (int)status;
}
