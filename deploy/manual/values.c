/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Derives the values of an option from the name of its argument in --help.
 */

#include <ctype.h>
#include <string.h>

#include "common/event_type.h"
#include "deploy/manual/program.h"

enum value_kind option_value_kind(const struct option_row *row)
{
	static const struct {
		const char *argument;
		enum value_kind kind;
	} kinds[] = {
		{ "FILE", VALUE_FILE },
		{ "BOOL", VALUE_BOOL },
		{ "TYPE", VALUE_WORD },
		{ "FORMAT", VALUE_WORD },
	};
	const char *name = row->name ? row->name : "";
	size_t length = strlen(name);

	if (!row->argument)
		return VALUE_NONE;
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		if (strcmp(row->argument, kinds[i].argument) == 0)
			return kinds[i].kind;
	}
	/*
	 * Configuration keys have the argument TEXT. Keys for paths are recognised by their names.
	 */
	if ((length >= 4 && strcmp(name + length - 4, "file") == 0) ||
	    (length >= 6 && strcmp(name + length - 6, "folder") == 0) ||
	    strcmp(name, "data") == 0 || strcmp(name, "tokens") == 0)
		return VALUE_FILE;
	return VALUE_ANY;
}

static void append_formats(struct bytes *out)
{
	static const char *const formats[] = {
#define EXPORT_FORMAT(id, name, ...) name,
#include "common/export_formats.def"
#undef EXPORT_FORMAT
	};

	for (size_t i = 0; i < ARRAY_SIZE(formats); i++)
		(void)bytes_append_format(out, "%s%s", out->size ? " " : "", formats[i]);
}

void option_append_words(const struct option_row *row, struct bytes *out)
{
	if (row->argument && strcmp(row->argument, "FORMAT") == 0) {
		append_formats(out);
		return;
	}
	for (unsigned int type = EVENT_NONE + 1; type < EVENT_TYPE_END; type++) {
		const char *name = event_type_name(type);

		if (row->doc && name && strstr(row->doc, name))
			(void)bytes_append_format(out, "%s%s", out->size ? " " : "", name);
	}
}

enum value_kind argument_kind(const struct option_list *options)
{
	return options->arguments && strstr(options->arguments, "FILE") ? VALUE_FILE : VALUE_ANY;
}

void append_verbs(const struct option_list *options, struct bytes *out)
{
	const char *line = options->arguments;

	while (line && *line) {
		size_t length = strcspn(line, " \n");

		if (islower((unsigned char)*line))
			(void)bytes_append_format(out, "%s%.*s", out->size ? " " : "", (int)length,
						  line);
		line += strcspn(line, "\n");
		line += *line == '\n';
	}
}
