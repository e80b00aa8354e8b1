/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prints a function for zsh's completion system, which finds it by its file name.
 */

#include <ctype.h>
#include <string.h>

#include "common/scoped.h"
#include "deploy/manual/program.h"

/* Escapes a text inside quotes in a specification, where brackets and colons are special. */
static void print_escaped(const char *text, struct bytes *out)
{
	for (; *text; text++) {
		if (*text == '\'')
			(void)bytes_append_text(out, "'\\'");
		else if (strchr("[]:\\", *text))
			(void)bytes_append_byte(out, '\\');
		(void)bytes_append_byte(out, (uint8_t)*text);
	}
}

static void print_action(const struct option_row *row, struct bytes *out)
{
	scoped(bytes_release) struct bytes events = BYTES_INIT(4 * KIB);

	switch (option_value_kind(row)) {
	case VALUE_NONE:
	case VALUE_ANY:
		break;
	case VALUE_FILE:
		(void)bytes_append_text(out, "_files");
		break;
	case VALUE_BOOL:
		(void)bytes_append_text(out, "(true false)");
		break;
	case VALUE_WORD:
		option_append_words(row, &events);
		(void)bytes_append_format(out, "(%.*s)", (int)events.size,
					  (const char *)events.data);
		break;
	}
}

/* The end of the first sentence; NULL: the text is one sentence. "e.g. this" is not an end. */
static const char *end_of_sentence(const char *text)
{
	const char *end = strstr(text, ". ");

	while (end && !isupper((unsigned char)end[2]))
		end = strstr(end + 1, ". ");
	return end;
}

/* Prints '--last=[the last 5m]:DURATION:', with the first sentence of the option's text. */
static void print_spec(const struct option_row *row, const char *name, bool is_long,
		       const char *doc, struct bytes *out)
{
	const char *equals = !row->argument || !is_long  ? ""
			     : row->argument_is_optional ? "=-"
							 : "=";
	const char *end = end_of_sentence(doc);
	scoped(bytes_release) struct bytes text = BYTES_INIT(64 * KIB);

	(void)bytes_append(&text, doc, end ? (size_t)(end - doc) : strlen(doc));
	(void)bytes_append_byte(&text, '\0');
	(void)bytes_append_format(out, " \\\n\t\t'%s%s[", name, equals);
	print_escaped((const char *)text.data, out);
	(void)bytes_append_byte(out, ']');
	if (row->argument) {
		(void)bytes_append_text(out, row->argument_is_optional ? "::" : ":");
		print_escaped(row->argument, out);
		(void)bytes_append_byte(out, ':');
		print_action(row, out);
	}
	(void)bytes_append_byte(out, '\'');
}

static void print_specs(const struct option_list *options, struct bytes *out)
{
	const char *doc = "";

	for (size_t i = 0; i < options->rows.count; i++) {
		const struct option_row *row = &options->rows.items[i];
		char name[128];

		if (row->doc)
			doc = row->doc;
		if (!option_is_shown(row))
			continue;
		(void)snprintf(name, sizeof(name), "--%s", row->name);
		print_spec(row, name, true, doc, out);
		if (row->letter && row->letter != '?') {
			(void)snprintf(name, sizeof(name), "-%c", row->letter);
			print_spec(row, name, false, doc, out);
		}
	}
}

static void print_command(const struct manual_command *command, struct bytes *out)
{
	scoped(bytes_release) struct bytes verbs = BYTES_INIT(4 * KIB);

	(void)bytes_append_format(out, "\t%s)\n\t\t", command->name);
	if (!command->has_options) {
		(void)bytes_append_text(out, strcmp(command->name, "help") == 0
						     ? "_describe command commands\n\t\t;;\n"
						     : ":\n\t\t;;\n");
		return;
	}
	(void)bytes_append_text(out, "_arguments -s");
	print_specs(&command->options, out);
	append_verbs(&command->options, &verbs);
	if (verbs.size > 0)
		(void)bytes_append_format(out, " \\\n\t\t'1:action:(%.*s)'", (int)verbs.size,
					  (const char *)verbs.data);
	else if (argument_kind(&command->options) == VALUE_FILE)
		(void)bytes_append_text(out, " \\\n\t\t'*:file:_files'");
	(void)bytes_append_text(out, "\n\t\t;;\n");
}

static void print_commands(const struct manual_program *program, struct bytes *out)
{
	(void)bytes_append_text(out, "local curcontext=\"$curcontext\" state line\n"
				     "local -a commands\n"
				     "\n"
				     "commands=(\n");
	for (size_t i = 0; i < program->n_commands; i++) {
		(void)bytes_append_format(out, "\t'%s:", program->commands[i].name);
		print_escaped(program->commands[i].summary, out);
		(void)bytes_append_text(out, "'\n");
	}
	(void)bytes_append_text(out,
				")\n"
				"_arguments -C '1:command:->command' '*::argument:->argument'\n"
				"case $state in\n"
				"command)\n"
				"\t_describe command commands\n"
				"\t;;\n"
				"argument)\n"
				"\tcase $words[1] in\n");
	for (size_t i = 0; i < program->n_commands; i++)
		print_command(&program->commands[i], out);
	(void)bytes_append_text(out, "\tesac\n"
				     "\t;;\n"
				     "esac\n");
}

void print_zsh_completion(const struct manual_program *program, struct bytes *out)
{
	(void)bytes_append_format(out, "#compdef %s\n# Made from the tables behind --help.\n\n",
				  program->name);
	if (program->n_commands > 0) {
		print_commands(program, out);
		return;
	}
	(void)bytes_append_text(out, "_arguments -s");
	print_specs(&program->options, out);
	(void)bytes_append_byte(out, '\n');
}
