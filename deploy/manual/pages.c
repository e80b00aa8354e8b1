/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prints manual pages: of a program, of each of its commands, and of its configuration file.
 */

#include <ctype.h>
#include <string.h>

#include "common/config_value.h"
#include "common/scoped.h"
#include "deploy/manual/program.h"
#include "deploy/manual/roff.h"

static void print_name(const char *name, const char *summary, struct bytes *out)
{
	size_t length = strlen(summary);

	roff_heading(out, "NAME");
	roff_text(out, ROFF_ROMAN, name);
	(void)bytes_append_text(out, " \\- ");
	roff_text_sized(out, ROFF_ROMAN, summary, length);
	(void)bytes_append_byte(out, '\n');
}

/* "-s, --since=TIME". */
static void print_option_name(const struct option_row *row, struct bytes *out)
{
	if (row->letter) {
		const char letter[] = { '-', row->letter, '\0' };

		roff_text(out, ROFF_BOLD, letter);
		(void)bytes_append_text(out, ", ");
	}
	(void)bytes_append_text(out, "\\fB\\-\\-");
	roff_text(out, ROFF_ROMAN, row->name);
	(void)bytes_append_text(out, "\\fR");
	if (row->argument) {
		(void)bytes_append_text(out, row->argument_is_optional ? "[=" : "=");
		roff_text(out, ROFF_ITALIC, row->argument);
		(void)bytes_append_text(out, row->argument_is_optional ? "]" : "");
	}
}

/* Prints an option, with the aliases in the rows after it, above its text. */
static void print_option(const struct option_vec *rows, size_t i, struct bytes *out)
{
	const struct option_row *row = &rows->items[i];

	(void)bytes_append_text(out, ".TP\n");
	print_option_name(row, out);
	for (size_t j = i + 1; j < rows->count && !rows->items[j].doc; j++) {
		if (!option_is_shown(&rows->items[j]))
			continue;
		(void)bytes_append_text(out, ", ");
		print_option_name(&rows->items[j], out);
	}
	(void)bytes_append_byte(out, '\n');
	roff_paragraph(out, row->doc, strlen(row->doc));
}

/* "Time range:" as a heading between options. */
static void print_group_heading(const char *heading, struct bytes *out)
{
	size_t length = strcspn(heading, ":");

	(void)bytes_append_text(out, ".SS ");
	roff_text_sized(out, ROFF_ROMAN, heading, length);
	(void)bytes_append_byte(out, '\n');
}

static void print_options(const struct option_vec *rows, const char *heading, struct bytes *out)
{
	const char *group = NULL;
	bool is_begun = false;

	for (size_t i = 0; i < rows->count; i++) {
		const struct option_row *row = &rows->items[i];

		if (!option_is_shown(row) || !row->doc)
			continue;
		if (!is_begun)
			roff_heading(out, heading);
		if (is_begun && !row->heading && group)
			print_group_heading("Help", out);
		else if (row->heading && row->heading != group)
			print_group_heading(row->heading, out);
		is_begun = true;
		group = row->heading;
		print_option(rows, i, out);
	}
}

/* Prints a line for each alternative of the arguments. */
static void print_synopsis(const char *line, const struct option_list *options, struct bytes *out)
{
	const char *arguments = options->arguments ? options->arguments : "";

	roff_heading(out, "SYNOPSIS");
	do {
		size_t length = strcspn(arguments, "\n");

		roff_text(out, ROFF_BOLD, line);
		(void)bytes_append_text(out, options->rows.count ? " [\\fIOPTION\\fR...]" : "");
		if (length > 0) {
			(void)bytes_append_byte(out, ' ');
			roff_text_sized(
				out, islower((unsigned char)*arguments) ? ROFF_ROMAN : ROFF_ITALIC,
				arguments, length);
		}
		arguments += length;
		(void)bytes_append_text(out, *arguments ? "\n.br\n" : "\n");
		arguments += *arguments == '\n';
	} while (*arguments);
}

/* The text above the options in --help. */
static void print_description(const struct option_list *options, const char *otherwise,
			      struct bytes *out)
{
	roff_heading(out, "DESCRIPTION");
	if (options->doc)
		roff_paragraph(out, options->doc, strcspn(options->doc, "\v"));
	else
		roff_paragraph(out, otherwise, strlen(otherwise));
}

/* The text below the options in --help. */
static void print_notes(const struct option_list *options, struct bytes *out)
{
	const char *notes = options->doc ? strchr(options->doc, '\v') : NULL;

	if (!notes)
		return;
	roff_heading(out, "NOTES");
	roff_paragraph(out, notes + 1, strlen(notes + 1));
}

static bool concerns(const struct manual_example *example, const struct manual_command *command)
{
	size_t program = strcspn(example->line, " ");
	size_t length = strlen(command->name);

	return example->line[program] == ' ' &&
	       strncmp(example->line + program + 1, command->name, length) == 0 &&
	       strchr(" ", example->line[program + 1 + length]);
}

/* @command NULL: all examples of the program. */
static void print_examples(const struct manual_program *program,
			   const struct manual_command *command, struct bytes *out)
{
	bool is_begun = false;

	for (size_t i = 0; i < program->n_examples; i++) {
		const struct manual_example *example = &program->examples[i];

		if (command && !concerns(example, command))
			continue;
		if (!is_begun)
			roff_heading(out, "EXAMPLES");
		is_begun = true;
		(void)bytes_append_text(out, ".TP\n");
		roff_text(out, ROFF_BOLD, example->line);
		(void)bytes_append_byte(out, '\n');
		roff_paragraph(out, example->what, strlen(example->what));
	}
}

static void print_exit_statuses(const struct manual_program *program, struct bytes *out)
{
	if (program->n_exit_statuses == 0)
		return;
	roff_heading(out, "EXIT STATUS");
	for (size_t i = 0; i < program->n_exit_statuses; i++) {
		(void)bytes_append_format(out, ".TP\n.B %d\n", program->exit_statuses[i].status);
		roff_paragraph(out, program->exit_statuses[i].meaning,
			       strlen(program->exit_statuses[i].meaning));
	}
}

static void print_see_also(const char *const *pages, size_t n_pages, struct bytes *out)
{
	roff_heading(out, "SEE ALSO");
	for (size_t i = 0; i < n_pages; i++) {
		size_t length = strcspn(pages[i], "(");

		(void)bytes_append_text(out, ".BR ");
		roff_text_sized(out, ROFF_ROMAN, pages[i], length);
		(void)bytes_append_format(out, " %s%s\n", pages[i] + length,
					  i + 1 < n_pages ? "," : "");
	}
}

static void print_commands(const struct manual_program *program, struct bytes *out)
{
	if (program->n_commands == 0)
		return;
	roff_heading(out, "COMMANDS");
	for (size_t i = 0; i < program->n_commands; i++) {
		const struct manual_command *command = &program->commands[i];

		(void)bytes_append_text(out, ".TP\n\\fB");
		roff_text(out, ROFF_ROMAN, command->name);
		(void)bytes_append_text(out, "\\fR\n");
		roff_text(out, ROFF_ROMAN, command->summary);
		(void)bytes_append_byte(out, '\n');
		if (command->has_options) {
			(void)bytes_append_text(out, "(see\n.BR ");
			roff_text(out, ROFF_ROMAN, program->name);
			(void)bytes_append_text(out, "\\-");
			roff_text(out, ROFF_ROMAN, command->name);
			(void)bytes_append_format(out, " (%c))\n", program->section);
		}
	}
}

static void print_files(const struct manual_program *program, struct bytes *out)
{
	if (!program->config)
		return;
	roff_heading(out, "FILES");
	(void)bytes_append_text(out, ".TP\n.I ");
	roff_text(out, ROFF_ROMAN, program->config_path);
	(void)bytes_append_text(out, "\nThe configuration, see\n.BR ");
	roff_text(out, ROFF_ROMAN, program->name);
	(void)bytes_append_text(out, ".yaml (5).\n");
	roff_heading(out, "ENVIRONMENT");
	(void)bytes_append_format(out, ".TP\n.BI %s KEY\n", program->config->environment_prefix);
	(void)bytes_append_text(out, "Each key of the configuration in capital letters,\n"
				     "with an underscore for each dot.\n");
}

void print_program_page(const struct manual_program *program, const char *date, struct bytes *out)
{
	static const struct option_list of_commands = { .arguments = "COMMAND [ARGUMENT...]" };
	static const char *const all[] = { "hearth(1)", "hearth-agent(8)", "hearth-symbolizer(8)",
					   "hearth-agent.yaml(5)", "hearth-symbolizer.yaml(5)" };
	const char *others[ARRAY_SIZE(all)];
	size_t n_others = 0;

	for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
		if (strncmp(all[i], program->name, strcspn(all[i], "(")) != 0 ||
		    program->name[strcspn(all[i], "(")] != '\0')
			others[n_others++] = all[i];
	}
	roff_title(out, program->name, program->section, date);
	print_name(program->name, program->summary, out);
	print_synopsis(program->name, program->n_commands ? &of_commands : &program->options, out);
	print_description(&program->options, program->summary, out);
	print_commands(program, out);
	print_options(&program->options.rows,
		      program->n_commands ? "OPTIONS OF MOST COMMANDS" : "OPTIONS", out);
	print_notes(&program->options, out);
	print_examples(program, NULL, out);
	print_exit_statuses(program, out);
	print_files(program, out);
	print_see_also(others, n_others, out);
}

void print_command_page(const struct manual_program *program, const struct manual_command *command,
			const char *date, struct bytes *out)
{
	static const char *const others[] = { "hearth(1)" };
	char name[64], line[64];

	(void)snprintf(name, sizeof(name), "%s-%s", program->name, command->name);
	(void)snprintf(line, sizeof(line), "%s %s", program->name, command->name);
	roff_title(out, name, program->section, date);
	print_name(name, command->summary, out);
	print_synopsis(line, &command->options, out);
	print_description(&command->options, command->summary, out);
	print_options(&command->options.rows, "OPTIONS", out);
	print_notes(&command->options, out);
	print_examples(program, command, out);
	print_exit_statuses(program, out);
	print_see_also(others, ARRAY_SIZE(others), out);
}

static void print_key(const struct config_key *key, struct bytes *out)
{
	scoped(bytes_release) struct bytes value = BYTES_INIT(64 * KIB);
	scoped(bytes_release) struct bytes sentence = BYTES_INIT(64 * KIB);
	char expected[CONFIG_EXPECTED_SIZE];

	config_value_print_default(key, &value);
	config_value_expected(key, expected);
	(void)bytes_append_text(out, ".TP\n");
	roff_text(out, ROFF_BOLD, key->name);
	(void)bytes_append_text(out, ": ");
	roff_text_sized(out, ROFF_ROMAN, (const char *)value.data, value.size);
	(void)bytes_append_byte(out, '\n');
	roff_paragraph(out, key->help, strlen(key->help));
	(void)bytes_append_format(&sentence, "Takes %s.", expected);
	roff_paragraph(out, (const char *)sentence.data, sentence.size);
}

void print_config_page(const struct manual_program *program, const char *date, struct bytes *out)
{
	const char *others[1];
	char name[64], page[64];

	(void)snprintf(name, sizeof(name), "%s.yaml", program->name);
	(void)snprintf(page, sizeof(page), "%s(%c)", program->name, program->section);
	others[0] = page;
	roff_title(out, name, '5', date);
	(void)bytes_append_text(out, ".SH NAME\n");
	roff_text(out, ROFF_ROMAN, name);
	(void)bytes_append_text(out, " \\- configuration of ");
	roff_text(out, ROFF_ROMAN, program->name);
	(void)bytes_append_text(out, "\n.SH SYNOPSIS\n.I ");
	roff_text(out, ROFF_ROMAN, program->config_path);
	(void)bytes_append_text(
		out,
		"\n.SH DESCRIPTION\nA YAML file.\n"
		"Sections may be written as nested maps, or with dots as below.\n"
		"Variables of the environment override the file, and options override both.\n");
	(void)bytes_append_format(out, "The variable of a key is\n.BI %s KEY\nin capital letters, ",
				  program->config->environment_prefix);
	(void)bytes_append_text(
		out, "with an underscore for each dot.\n.SH KEYS\nEach with its default.\n");
	for (size_t i = 0; i < program->config->n_keys; i++)
		print_key(&program->config->keys[i], out);
	print_see_also(others, 1, out);
}
