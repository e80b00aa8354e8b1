/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Writes the manual pages and completions of one program from the tables that the program uses
 * itself.
 */

#include "common/bytes.h"
#include "common/config.h"
#include "deploy/manual/option_list.h"

struct manual_command {
	const char *name;
	const char *summary;
	bool has_options; /* else @options is empty */
	struct option_list options;
};

struct manual_example {
	const char *line; /* the command line */
	const char *what; /* what the command does */
};

struct manual_exit_status {
	int status;
	const char *meaning;
};

struct manual_program {
	const char *name;
	const char *summary;
	char section;
	/* If the program has commands: the options that most of them share. */
	struct option_list options;

	struct manual_command *commands;
	size_t n_commands;

	const struct config_table *config; /* NULL: no configuration file */
	const char *config_path;

	const struct manual_example *examples;
	size_t n_examples;
	const struct manual_exit_status *exit_statuses;
	size_t n_exit_statuses;
};

/* Kinds of values, for completion. */
enum value_kind {
	VALUE_NONE, /* the option takes no value */
	VALUE_ANY,
	VALUE_FILE,
	VALUE_BOOL,
	VALUE_WORD, /* an event type in the option's text, or a format of exports */
};

enum value_kind option_value_kind(const struct option_row *row);

/* Appends the event types in the text of @row, separated by blanks. */
void option_append_words(const struct option_row *row, struct bytes *out);

/* Kind of the arguments after the options: VALUE_FILE or VALUE_ANY. */
enum value_kind argument_kind(const struct option_list *options);

/* Appends the first words of arguments such as "ls [ID...]\nrm ID...", separated by blanks. */
void append_verbs(const struct option_list *options, struct bytes *out);

/* Each function appends one file to @out. */
void print_program_page(const struct manual_program *program, const char *date, struct bytes *out);
void print_command_page(const struct manual_program *program, const struct manual_command *command,
			const char *date, struct bytes *out);
void print_config_page(const struct manual_program *program, const char *date, struct bytes *out);
void print_bash_completion(const struct manual_program *program, struct bytes *out);
void print_zsh_completion(const struct manual_program *program, struct bytes *out);

/*
 * main() of a generator for a program without commands, with the arguments FOLDER DATE. Captures
 * the table that @parse passes to argp_parse(), and writes all files of @program. Returns the exit
 * status.
 */
int manual_main(int argc, char **argv, struct manual_program *program,
		void (*parse)(const void *arg));

/*
 * Writes all files of @program below @folder: man1, man5, man8, bash and zsh. Logs errors. Returns
 * the exit status of the generator.
 */
int write_manual(const struct manual_program *program, const char *folder, const char *date);
