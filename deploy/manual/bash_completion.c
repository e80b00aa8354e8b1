/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prints a function for bash's `complete -F`. It uses no functions of the package bash-completion,
 * which only loads it from its folder.
 */

#include <string.h>

#include "common/scoped.h"
#include "deploy/manual/program.h"

/* "hearth-agent" becomes "_hearth_agent". */
static void print_function_name(const char *program, struct bytes *out)
{
	(void)bytes_append_byte(out, '_');
	for (; *program; program++)
		(void)bytes_append_byte(out, (uint8_t)(*program == '-' ? '_' : *program));
}

/*
 * Prints the patterns of `case $command$prev`: "flame--event | flame-e". False: no option has this
 * kind.
 */
static bool print_patterns(const struct option_list *options, const char *command,
			   enum value_kind kind, struct bytes *out)
{
	bool is_begun = false;

	for (size_t i = 0; i < options->rows.count; i++) {
		const struct option_row *row = &options->rows.items[i];

		if (!option_is_shown(row) || option_value_kind(row) != kind)
			continue;
		(void)bytes_append_format(out, "%s%s--%s", is_begun ? " | " : "\t", command,
					  row->name);
		if (row->letter)
			(void)bytes_append_format(out, " | %s-%c", command, row->letter);
		is_begun = true;
	}
	return is_begun;
}

static void print_event_cases(const struct option_list *options, const char *command,
			      struct bytes *out)
{
	for (size_t i = 0; i < options->rows.count; i++) {
		scoped(bytes_release) struct bytes events = BYTES_INIT(4 * KIB);
		const struct option_row *row = &options->rows.items[i];

		if (!option_is_shown(row) || option_value_kind(row) != VALUE_WORD)
			continue;
		option_append_words(row, &events);
		(void)bytes_append_format(out, "\t%s--%s", command, row->name);
		if (row->letter)
			(void)bytes_append_format(out, " | %s-%c", command, row->letter);
		(void)bytes_append_format(out, ") words='%.*s' value=words ;;\n", (int)events.size,
					  (const char *)events.data);
	}
}

static void print_value_cases(const struct option_list *options, const char *command,
			      struct bytes *out)
{
	if (print_patterns(options, command, VALUE_FILE, out))
		(void)bytes_append_text(out, ") value=files ;;\n");
	/* The value is optional, so it must be in the same word ("--flag=true"). */
	if (print_patterns(options, command, VALUE_BOOL, out))
		(void)bytes_append_text(
			out, ") [ -z \"$joined\" ] || { words='true false' value=words; } ;;\n");
	print_event_cases(options, command, out);
	if (print_patterns(options, command, VALUE_ANY, out))
		(void)bytes_append_text(out, ") return ;;\n");
}

static void print_option_names(const struct option_list *options, struct bytes *out)
{
	bool is_begun = false;

	for (size_t i = 0; i < options->rows.count; i++) {
		const struct option_row *row = &options->rows.items[i];

		if (!option_is_shown(row))
			continue;
		(void)bytes_append_format(out, "%s--%s", is_begun ? " " : "", row->name);
		is_begun = true;
	}
}

static void print_command_words(const struct manual_program *program, struct bytes *out)
{
	for (size_t i = 0; i < program->n_commands; i++)
		(void)bytes_append_format(out, "%s%s", i ? " " : "", program->commands[i].name);
}

/* Completion of the arguments after the command's name that are no options. */
static void print_arguments(const struct manual_program *program,
			    const struct manual_command *command, struct bytes *out)
{
	scoped(bytes_release) struct bytes verbs = BYTES_INIT(4 * KIB);

	if (!command->has_options && strcmp(command->name, "help") == 0) {
		(void)bytes_append_text(out, " words=$commands");
		return;
	}
	append_verbs(&command->options, &verbs);
	if (verbs.size > 0)
		(void)bytes_append_format(out, " words='%.*s'", (int)verbs.size,
					  (const char *)verbs.data);
	else if (argument_kind(&command->options) == VALUE_FILE)
		(void)bytes_append_text(out, " arguments=files");
	(void)program;
}

static void print_commands(const struct manual_program *program, struct bytes *out)
{
	(void)bytes_append_text(out, "\tcommands='");
	print_command_words(program, out);
	(void)bytes_append_text(
		out, "'\n"
		     "\tif [ \"$COMP_CWORD\" -eq 1 ]; then\n"
		     "\t\tmapfile -t COMPREPLY < <(compgen -W \"$commands\" -- \"$cur\")\n"
		     "\t\treturn\n"
		     "\tfi\n"
		     "\tcommand=${COMP_WORDS[1]}\n"
		     "\tcase $command in\n");
	for (size_t i = 0; i < program->n_commands; i++) {
		(void)bytes_append_format(out, "\t%s) options='", program->commands[i].name);
		print_option_names(&program->commands[i].options, out);
		(void)bytes_append_byte(out, '\'');
		print_arguments(program, &program->commands[i], out);
		(void)bytes_append_text(out, " ;;\n");
	}
	(void)bytes_append_text(out, "\tesac\n");
}

/* bash splits "--last=5m" into three words. */
static const char begin_of_function[] =
	"()\n"
	"{\n"
	"\tlocal cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}\n"
	"\tlocal command= commands= options= words= arguments=words value= joined=\n"
	"\n"
	"\tCOMPREPLY=()\n"
	"\tif [ \"$cur\" = = ]; then\n"
	"\t\tcur= joined=1\n"
	"\telif [ \"$prev\" = = ] && [ \"$COMP_CWORD\" -gt 1 ]; then\n"
	"\t\tprev=${COMP_WORDS[COMP_CWORD - 2]} joined=1\n"
	"\tfi\n";

static const char end_of_function[] =
	"\tesac\n"
	"\tif [ -z \"$value\" ] && [[ $cur = -* ]]; then\n"
	"\t\twords=$options value=words\n"
	"\tfi\n"
	"\tcase ${value:-$arguments} in\n"
	"\twords) mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$cur\") ;;\n"
	"\tfiles)\n"
	"\t\tcompopt -o filenames 2>/dev/null\n"
	"\t\tmapfile -t COMPREPLY < <(compgen -f -- \"$cur\")\n"
	"\t\t;;\n"
	"\tesac\n"
	"}\n"
	"complete -F ";

void print_bash_completion(const struct manual_program *program, struct bytes *out)
{
	(void)bytes_append_format(out,
				  "# shellcheck shell=bash\n"
				  "# Completion for %s, made from the tables behind --help.\n\n",
				  program->name);
	print_function_name(program->name, out);
	(void)bytes_append_text(out, begin_of_function);
	if (program->n_commands > 0) {
		print_commands(program, out);
	} else {
		(void)bytes_append_text(out, "\toptions='");
		print_option_names(&program->options, out);
		(void)bytes_append_text(out, "'\n");
	}
	(void)bytes_append_text(out, "\tcase $command$prev in\n");
	for (size_t i = 0; i < program->n_commands; i++)
		print_value_cases(&program->commands[i].options, program->commands[i].name, out);
	if (program->n_commands == 0)
		print_value_cases(&program->options, "", out);
	(void)bytes_append_text(out, end_of_function);
	print_function_name(program->name, out);
	(void)bytes_append_format(out, " %s\n", program->name);
}
