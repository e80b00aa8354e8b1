/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Three digits are enough everywhere: the exact numbers are in --json.
 */

#include "symbolizer/cli/human.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/scoped.h"

/* Of a UTF-8 sequence that says "…". */
#define ELLIPSIS "\xe2\x80\xa6"

/* A narrower terminal would leave the words of a command no room. */
#define MIN_COMMAND_COLUMNS 30

static void format_scaled(double value, const char *unit, char ret_text[HUMAN_SIZE])
{
	int decimals = value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;

	(void)snprintf(ret_text, HUMAN_SIZE, "%.*f %s", decimals, value, unit);
}

static void format_time(uint64_t us, char ret_text[HUMAN_SIZE])
{
	uint64_t seconds = (us + 500000) / 1000000;

	if (us < 1000)
		(void)snprintf(ret_text, HUMAN_SIZE, "%d us", (int)us);
	else if (us < 999500)
		format_scaled((double)us / 1e3, "ms", ret_text);
	else if (us < 59950000)
		format_scaled((double)us / 1e6, "s", ret_text);
	else if (seconds < 3600 && seconds % 60 == 0)
		(void)snprintf(ret_text, HUMAN_SIZE, "%d m", (int)(seconds / 60));
	else if (seconds < 3600)
		(void)snprintf(ret_text, HUMAN_SIZE, "%d m %d s", (int)(seconds / 60),
			       (int)(seconds % 60));
	else if (seconds < 86400)
		(void)snprintf(ret_text, HUMAN_SIZE, "%d h %d m", (int)(seconds / 3600),
			       (int)(seconds / 60 % 60));
	else
		(void)snprintf(ret_text, HUMAN_SIZE, "%llu d %d h",
			       (unsigned long long)(seconds / 86400), (int)(seconds / 3600 % 24));
}

void human_bytes(uint64_t bytes, char ret_text[HUMAN_SIZE])
{
	static const char *const units[] = { "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
	double value = (double)bytes / 1024;
	size_t unit = 0;

	if (bytes < 1000) {
		(void)snprintf(ret_text, HUMAN_SIZE, "%d B", (int)bytes);
		return;
	}
	while (value >= 999.5 && unit + 1 < ARRAY_SIZE(units)) {
		value /= 1024;
		unit++;
	}
	format_scaled(value, units[unit], ret_text);
}

void human_value(enum event_type type, uint64_t value, char ret_text[HUMAN_SIZE])
{
	const char *unit = event_type_unit(type);

	if (unit && strcmp(unit, "bytes") == 0)
		human_bytes(value, ret_text);
	else
		format_time(value, ret_text);
}

void human_share(uint64_t part, uint64_t whole, char ret_text[HUMAN_SIZE])
{
	double percent = whole > 0 ? 100.0 * (double)part / (double)whole : 0.0;

	(void)snprintf(ret_text, HUMAN_SIZE, "%.1f %%", MIN(percent, 999.9));
}

void human_age(uint64_t seconds, char ret_text[HUMAN_SIZE])
{
	if (seconds < 2)
		(void)snprintf(ret_text, HUMAN_SIZE, "just now");
	else if (seconds < 120)
		(void)snprintf(ret_text, HUMAN_SIZE, "%d s ago", (int)seconds);
	else if (seconds < 7200)
		(void)snprintf(ret_text, HUMAN_SIZE, "%d m ago", (int)(seconds / 60));
	else if (seconds < 172800)
		(void)snprintf(ret_text, HUMAN_SIZE, "%d h ago", (int)(seconds / 3600));
	else
		(void)snprintf(ret_text, HUMAN_SIZE, "%llu d ago",
			       (unsigned long long)(seconds / 86400));
}

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

/* One character of @text. C1 controls are two bytes in UTF-8: 0xc2, then 0x80 to 0x9f. */
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

int human_append(struct bytes *out, const char *text, int max_columns)
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

void human_append_wrapped(struct bytes *out, const char *text, int used, int indent, int width)
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
		used += human_append(out, word ? word : "", -1);
		text += length;
		blanks = (int)strspn(text, " ");
		text += blanks;
	}
}

/* The end of the word that begins at @command: a blank that is neither in single quotes nor behind
 * a backslash. */
static size_t shell_word_length(const char *command)
{
	bool quoted = false;
	size_t length = 0;

	for (; command[length] && (quoted || command[length] != ' '); length++) {
		quoted ^= command[length] == '\'';
		/* Not in quotes: what is behind it is no quote and no blank. */
		if (!quoted && command[length] == '\\' && command[length + 1])
			length++;
	}
	return length;
}

void human_append_command(struct bytes *out, const char *command, int indent, int width)
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
		used += human_append(out, word ? word : "", -1);
		command += length;
		command += strspn(command, " ");
	}
	(void)bytes_append_byte(out, '\n');
}
