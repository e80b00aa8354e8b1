/* SPDX-License-Identifier: Apache-2.0 */

#include "symbolizer/cli/print/printable.h"

#include <string.h>

#include "common/scoped.h"

/* "…" in UTF-8. */
#define ELLIPSIS "\xe2\x80\xa6"

/* On a narrower terminal, lines are longer than the terminal is wide. */
#define MIN_COMMAND_COLUMNS 30

static bool is_continuation(char byte)
{
	return ((unsigned char)byte & 0xc0) == 0x80;
}

static int count_columns(const char *text)
{
	int columns = 0;

	for (; *text; text++)
		columns += !is_continuation(*text);
	return columns;
}

static size_t character_size(const char *text)
{
	size_t size = 1;

	while (is_continuation(text[size]))
		size++;
	return size;
}

/*
 * Appends the first character of @text. C1 controls are two bytes in UTF-8: 0xc2, then 0x80 to
 * 0x9f.
 */
static size_t append_character(struct bytes *out, const char *text)
{
	size_t size = character_size(text);

	if ((unsigned char)text[0] < 0x20 || text[0] == 0x7f || is_continuation(text[0]) ||
	    ((unsigned char)text[0] == 0xc2 && (unsigned char)text[1] < 0xa0))
		(void)bytes_append_byte(out, '?');
	else
		(void)bytes_append(out, text, size);
	return size;
}

int printable_append(struct bytes *out, const char *text, int max_columns)
{
	int columns = count_columns(text);
	bool cut = max_columns >= 0 && columns > max_columns;
	int tail = cut ? MAX(max_columns - 1, 0) / 2 : 0;
	int head = cut ? MAX(max_columns - 1, 0) - tail : columns;

	for (int i = 0; i < head && *text; i++)
		text += append_character(out, text);
	if (!cut || max_columns == 0)
		return cut ? 0 : columns;
	(void)bytes_append_text(out, ELLIPSIS);
	for (int i = head; i < columns - tail && *text; i++)
		text += character_size(text);
	while (*text)
		text += append_character(out, text);
	return max_columns;
}

void printable_append_cell(struct bytes *out, const char *text, int width)
{
	int used = printable_append(out, text, width);

	(void)bytes_append_format(out, "%*s  ", width - used, "");
}

void printable_append_wrapped(struct bytes *out, const char *text, int used, int indent, int width)
{
	int blanks = 0;

	while (*text) {
		size_t length = strcspn(text, ", ");
		scoped_free char *word = NULL;
		int columns;

		length += text[length] == ',';
		word = strndup(text, length);
		columns = word ? count_columns(word) : 0;
		if (used > indent && used + blanks + columns > width) {
			(void)bytes_append_format(out, "\n%*s", indent, "");
			used = indent;
		} else {
			(void)bytes_append_format(out, "%*s", blanks, "");
			used += blanks;
		}
		used += printable_append(out, word ? word : "", -1);
		text += length;
		blanks = (int)strspn(text, " ");
		text += blanks;
	}
}

/* Returns the length of the first word of @command. A word ends at a blank that is neither in
 * single quotes nor after a backslash. */
static size_t shell_word_length(const char *command)
{
	bool quoted = false;
	size_t length = 0;

	for (; command[length] && (quoted || command[length] != ' '); length++) {
		quoted ^= command[length] == '\'';
		/* Outside of quotes, a backslash quotes the next character. */
		if (!quoted && command[length] == '\\' && command[length + 1])
			length++;
	}
	return length;
}

void printable_append_command(struct bytes *out, const char *command, int indent, int width)
{
	const int room = MAX(width, indent + MIN_COMMAND_COLUMNS) - indent - 2;
	int used = 0;

	if (!command[0])
		return;
	(void)bytes_append_format(out, "%*s", indent, "");
	while (*command) {
		size_t length = shell_word_length(command);
		scoped_free char *word = strndup(command, length);
		int columns = word ? count_columns(word) : 0;

		if (used > 0 && used + 1 + columns > room) {
			(void)bytes_append_format(out, " \\\n%*s", indent + 2, "");
			used = 2;
		} else if (used > 0) {
			(void)bytes_append_byte(out, ' ');
			used++;
		}
		used += printable_append(out, word ? word : "", -1);
		command += length;
		command += strspn(command, " ");
	}
	(void)bytes_append_byte(out, '\n');
}
