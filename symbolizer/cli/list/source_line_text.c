/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/cli/list/source_line_text.h"

#include <string.h>

#include "symbolizer/cli/print/printable.h"

/* A longer line of source is cut, also if the terminal is wider. */
#define MAX_LINE_COLUMNS 500

#define MIN_LINE_COLUMNS 20

#define TAB_COLUMNS 4

struct bytes_view source_line_find(struct bytes_view text, uint64_t number)
{
	const char *next = (const char *)text.data;
	const char *const end = next + text.size;

	for (uint64_t i = 1; next < end; i++) {
		const char *line_end = memchr(next, '\n', (size_t)(end - next));
		const size_t size = (size_t)((line_end ? line_end : end) - next);

		if (i == number)
			return (struct bytes_view){ .data = (const uint8_t *)next, .size = size };
		next += size + 1;
	}
	return (struct bytes_view){};
}

void source_line_append(struct bytes *out, struct bytes_view line, int max_columns)
{
	const size_t columns = (size_t)MIN(MAX(max_columns, MIN_LINE_COLUMNS), MAX_LINE_COLUMNS);
	char text[MAX_LINE_COLUMNS + TAB_COLUMNS + 1];
	size_t used = 0;

	for (size_t i = 0; i < line.size && used < columns; i++) {
		if (line.data[i] != '\t') {
			text[used++] = (char)line.data[i];
			continue;
		}
		do
			text[used++] = ' ';
		while (used % TAB_COLUMNS != 0);
	}
	while (used > 0 && (text[used - 1] == '\r' || text[used - 1] == ' '))
		used--;
	text[MIN(used, columns)] = '\0';
	(void)printable_append(out, text, -1);
}
