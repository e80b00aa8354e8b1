/* SPDX-License-Identifier: Apache-2.0 */

#include "symbolizer/cli/list/debuginfo_list.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "symbolizer/cli/client/list_answer.h"
#include "symbolizer/cli/print/number_format.h"
#include "symbolizer/cli/print/printable.h"

#define WIDE_COLUMNS 120

/* Most linkers write a SHA-1; other build-IDs may be longer. */
#define ID_COLUMNS       40
#define SHORT_ID_COLUMNS 12

/* All columns but the file's name and build-ID, with the blanks between them: see format_line(). */
#define OTHER_COLUMNS  (2 + 2 + 10 + 2 + 13 + 2 + 8 + 2 + 9)
#define UPLOAD_COLUMNS (2 + 9)

#define MIN_NAME_COLUMNS 10

struct layout {
	bool wide;
	int id_columns;
	int name_columns;
};

static struct layout layout_of(int width)
{
	struct layout layout = { .wide = width >= WIDE_COLUMNS };
	int others;

	layout.id_columns = layout.wide ? ID_COLUMNS : SHORT_ID_COLUMNS;
	others = layout.id_columns + OTHER_COLUMNS + (layout.wide ? UPLOAD_COLUMNS : 0);
	layout.name_columns = MAX(width - others, MIN_NAME_COLUMNS);
	return layout;
}

static const char *words_for(const json_t *row)
{
	bool executable = json_is_true(json_object_get(row, "executable"));
	const char *has = list_text(row, "has");

	if (strcmp(list_text(row, "kind"), "source") == 0)
		return "sources";
	if (strcmp(list_text(row, "kind"), "split") == 0)
		return "split DWARF";
	if (strcmp(has, "nothing") == 0)
		return executable ? "code" : "nothing";
	if (strcmp(has, "embedded") == 0)
		return executable ? "code" : "functions";
	if (strcmp(has, "dwarf") == 0)
		return executable ? "code, DWARF" : "DWARF";
	if (strcmp(has, "lines") == 0)
		return executable ? "code, lines" : "lines";
	return executable ? "code, symbols" : "symbols";
}

static void format_moment(uint64_t time_s, uint64_t now_s, char ret_text[NUMBER_TEXT_SIZE])
{
	if (time_s == 0)
		(void)snprintf(ret_text, NUMBER_TEXT_SIZE, "never");
	else
		format_age(now_s > time_s ? now_s - time_s : 0, ret_text);
}

/*
 * Shortens names in their middle, because paths differ at their ends, but build-IDs at their end.
 */
static void format_line(const struct layout *layout, const char *const cells[7], struct bytes *out)
{
	char id[ID_COLUMNS + 1];

	printable_append_cell(out, cells[0], layout->name_columns);
	if (layout->wide) {
		int used = printable_append(out, cells[1], -1);

		(void)bytes_append_format(out, "%*s  ", MAX(layout->id_columns - used, 0), "");
	} else {
		(void)snprintf(id, sizeof(id), "%.*s", SHORT_ID_COLUMNS, cells[1]);
		printable_append_cell(out, id, layout->id_columns);
	}
	(void)bytes_append_format(out, "%-10.10s  %-13s  %8s  ", cells[2], cells[3], cells[4]);
	if (layout->wide)
		(void)bytes_append_format(out, "%-9s  ", cells[5]);
	(void)bytes_append_format(out, "%s\n", cells[6]);
}

static void format_row(const struct layout *layout, const json_t *row, uint64_t now_s,
		       struct bytes *out)
{
	char size[NUMBER_TEXT_SIZE], uploaded[NUMBER_TEXT_SIZE], used[NUMBER_TEXT_SIZE];
	const char *file = list_text(row, "file");

	format_bytes(list_number(row, "size_bytes"), size);
	format_moment(list_number(row, "uploaded_time"), now_s, uploaded);
	format_moment(list_number(row, "last_used_time"), now_s, used);
	format_line(layout,
		    (const char *const[7]){ file[0] ? file : "-", list_text(row, "build_id"),
					    list_text(row, "origin"), words_for(row), size,
					    uploaded, used },
		    out);
}

void debuginfo_list_write(const json_t *rows, int width, uint64_t now_s, struct bytes *out)
{
	static const char *const heading[7] = { "file", "build-ID", "from",     "has",
						"size", "uploaded", "last used" };
	const struct layout layout = layout_of(width);

	format_line(&layout, heading, out);
	for (size_t i = 0; i < json_array_size(rows); i++)
		format_row(&layout, json_array_get(rows, i), now_s, out);
}

int debuginfo_list_find(const json_t *rows, const char *text, const char **ret_id)
{
	const char *found = NULL;

	for (size_t i = 0; i < json_array_size(rows); i++) {
		const char *id = list_text(json_array_get(rows, i), "build_id");

		if (strncasecmp(id, text, strlen(text)) != 0)
			continue;
		if (strcasecmp(id, text) == 0) {
			*ret_id = id;
			return 1;
		}
		if (found && strcmp(found, id) != 0)
			return -ENOTUNIQ;
		found = id;
	}
	if (!found)
		return 0;
	*ret_id = found;
	return 1;
}
