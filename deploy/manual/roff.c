/* SPDX-License-Identifier: Apache-2.0 */
#include "deploy/manual/roff.h"

#include <ctype.h>
#include <string.h>

/* mandoc warns about lines of more than 80 bytes. */
#define MAX_LINE_BYTES 78

static const char *const font_names[] = {
	[ROFF_ROMAN] = "R",
	[ROFF_BOLD] = "B",
	[ROFF_ITALIC] = "I",
};

/*
 * Escapes a character. An unescaped "-" is printed as a hyphen, which a shell does not understand.
 */
static void append_char(struct bytes *out, char c)
{
	switch (c) {
	case '\\':
		(void)bytes_append_text(out, "\\e");
		break;
	case '-':
		(void)bytes_append_text(out, "\\-");
		break;
	case '~':
		(void)bytes_append_text(out, "\\(ti");
		break;
	case '^':
		(void)bytes_append_text(out, "\\(ha");
		break;
	case '\'':
		(void)bytes_append_text(out, "\\(aq");
		break;
	case '`':
		(void)bytes_append_text(out, "\\(ga");
		break;
	default:
		(void)bytes_append_byte(out, (uint8_t)c);
	}
}

static void append_plain(struct bytes *out, const char *text, size_t size)
{
	for (size_t i = 0; i < size; i++)
		append_char(out, text[i]);
}

static bool begins_line(const struct bytes *out)
{
	return out->size == 0 || out->data[out->size - 1] == '\n';
}

void roff_text_sized(struct bytes *out, enum roff_font font, const char *text, size_t size)
{
	if (font == ROFF_ROMAN) {
		/* A line that begins with a dot is a command. append_char() escapes quotes. */
		if (begins_line(out) && size > 0 && *text == '.')
			(void)bytes_append_text(out, "\\&");
		append_plain(out, text, size);
		return;
	}
	(void)bytes_append_format(out, "\\f%s", font_names[font]);
	append_plain(out, text, size);
	(void)bytes_append_text(out, "\\fR");
}

void roff_text(struct bytes *out, enum roff_font font, const char *text)
{
	roff_text_sized(out, font, text, strlen(text));
}

static size_t skip_blanks(const char *text, size_t size, size_t i)
{
	while (i < size && isspace((unsigned char)text[i]))
		i++;
	return i;
}

static size_t end_of_word(const char *text, size_t size, size_t i)
{
	while (i < size && !isspace((unsigned char)text[i]))
		i++;
	return i;
}

/* A sentence begins with a capital letter, so "e.g. this" is not one. */
static bool begins_sentence(const char *text, size_t size, size_t i, size_t before)
{
	return i < size && isupper((unsigned char)text[i]) && before > 0 &&
	       strchr(".!?", text[before - 1]);
}

void roff_paragraph(struct bytes *out, const char *text, size_t size)
{
	size_t line = out->size;
	bool new_line = true;

	for (size_t i = skip_blanks(text, size, 0); i < size;) {
		size_t end = end_of_word(text, size, i);

		/*
		 * An escape makes a character up to four bytes, so assume two bytes per character.
		 */
		if (!new_line && out->size - line + 1 + 2 * (end - i) > MAX_LINE_BYTES)
			new_line = true;
		else if (!new_line)
			(void)bytes_append_byte(out, ' ');
		if (new_line && !begins_line(out))
			(void)bytes_append_byte(out, '\n');
		if (new_line)
			line = out->size;
		roff_text_sized(out, ROFF_ROMAN, text + i, end - i);
		i = skip_blanks(text, size, end);
		new_line = begins_sentence(text, size, i, end);
	}
	if (!begins_line(out))
		(void)bytes_append_byte(out, '\n');
}

void roff_title(struct bytes *out, const char *name, char section, const char *date)
{
	(void)bytes_append_text(
		out, ".\\\" Made from the tables behind --help. Changes belong there.\n.TH ");
	for (; *name; name++)
		append_char(out, (char)toupper((unsigned char)*name));
	(void)bytes_append_format(out, " %c %s \"Hearth " HEARTH_VERSION "\" \"Hearth\"\n", section,
				  date);
}

void roff_heading(struct bytes *out, const char *heading)
{
	(void)bytes_append_format(out, ".SH %s\n", heading);
}
