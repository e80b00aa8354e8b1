/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The command line of a program that accepts its configuration keys as flags (config_flags.h).
 *
 * All such programs have the options of the CONFIG_OPTION_ROW macros in common, such as --config
 * and --check-config, and may have more options. An option either contributes to the configuration,
 * or requests a printed answer instead of a run of the program. Flags are applied after the file
 * and the environment: they override both, and the flag --config names the file.
 */

#include <stdio.h>

#include "common/config_flags.h"

/* argp's keys. Keys that are not characters have no short form. */
enum config_option_key {
	CONFIG_OPTION_HELP = '?',
	CONFIG_OPTION_VERSION = 'V',
	CONFIG_OPTION_FILE = 0x100,
	CONFIG_OPTION_USAGE,
	CONFIG_OPTION_CHECK,
	CONFIG_OPTION_PRINT,
	CONFIG_OPTION_PRINT_DEFAULT,
	CONFIG_OPTION_PRINT_MARKDOWN,
	CONFIG_OPTION_FIRST_OWN = 0x200, /* the program's other options */
	CONFIG_OPTION_FIRST_KEY = 0x300, /* the keys of the configuration */
};

/*
 * Rows of struct argp_option for the common options. Each program puts them into its table, because
 * the manual lists options in the order of the table.
 */
/* clang-format off */
#define CONFIG_OPTION_ROW_FILE(path, group)                                                        \
	{ "config", CONFIG_OPTION_FILE, "FILE", 0,                                                 \
	  "Configuration file (default " path ", if it exists)", group }
#define CONFIG_OPTION_ROWS_PRINT(print_default_flags, group)                                       \
	{ "check-config", CONFIG_OPTION_CHECK, NULL, 0, "Check the configuration and exit",        \
	  group },                                                                                 \
	{ "print-config", CONFIG_OPTION_PRINT, NULL, 0,                                            \
	  "Print the effective configuration and exit", group },                                   \
	{ "print-default-config", CONFIG_OPTION_PRINT_DEFAULT, NULL, print_default_flags,          \
	  "Print a commented configuration file and exit", group },                                \
	{ "print-config-markdown", CONFIG_OPTION_PRINT_MARKDOWN, NULL, print_default_flags,        \
	  "Print the table of keys in Markdown and exit", group }
#define CONFIG_OPTION_ROWS_HELP(group)                                                             \
	{ "help", CONFIG_OPTION_HELP, NULL, 0, "Print this help and exit", group },                \
	{ "usage", CONFIG_OPTION_USAGE, NULL, 0, "Print a short help and exit", group },           \
	{ "version", CONFIG_OPTION_VERSION, NULL, 0, "Print the version and exit", group }
/* clang-format on */

struct bytes;
struct config_options;

/* A program, for config_options_parse(). */
struct config_program {
	const char *name;  /* "hearth-agent" */
	const char *doc;   /* as in struct argp */
	const char *path;  /* of the configuration file, read if it exists and --config is absent */
	const char *title; /* of the printed documents */
	const struct config_flag_source *flags; /* its first_key is CONFIG_OPTION_FIRST_KEY */

	/* Checks and completes the configuration. 0, or a negative errno with @message filled. */
	int (*finish)(void *config, char message[CONFIG_MESSAGE_SIZE]);

	/* Prints the effective configuration; NULL: config_print(). */
	int (*print)(void *config, struct bytes *out);

	/*
	 * Takes an option of the program; @own is an argument of config_options_parse(). Returns 1
	 * if the option requests an answer, else 0 or a negative errno. May be NULL.
	 */
	int (*take_own)(struct config_options *options, void *own, int key, const char *argument);

	/*
	 * Writes the answer that an option of the program requested. 0, or a negative errno with
	 * @message filled. May be NULL.
	 */
	int (*answer_own)(const struct config_options *options, void *own, FILE *out,
			  char message[CONFIG_MESSAGE_SIZE]);
};

/*
 * Adds a flag that sets @key to @value, which must live until config_options_parse() returns.
 * Messages name the flag @name. 0 or -ENOMEM.
 */
int config_options_add(struct config_options *options, const char *name, const char *key,
		       const char *value);

/* Returns the value of the last flag that sets @key; NULL if there is none. */
const char *config_options_value(const struct config_options *options, const char *key);

enum config_options_result {
	OPTIONS_ANSWERED = 0, /* an answer was requested and written to @out */
	OPTIONS_RUN = 1,
};

/*
 * Fills @config, which must be zeroed, with the defaults, the file, the environment and the flags,
 * then calls finish(). The caller releases @config in every case. @argv is not modified, so
 * that the same call can read the configuration again on SIGHUP. Returns an enum
 * config_options_result, or a negative errno with @ret_message filled.
 */
int config_options_parse(const struct config_program *program, void *own, int argc, char **argv,
			 char *const *environment, FILE *out, void *config,
			 char ret_message[CONFIG_MESSAGE_SIZE]);
