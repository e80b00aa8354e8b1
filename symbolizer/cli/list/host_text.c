/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Columns are as wide as their longest text. If a line does not fit, the columns of host names and
 * kernel names become narrower, the wider of the two first.
 */

#include "symbolizer/cli/list/host_text.h"

#include <inttypes.h>
#include <string.h>

#include "symbolizer/cli/client/list_answer.h"
#include "symbolizer/cli/print/number_format.h"
#include "symbolizer/cli/print/printable.h"

enum column {
	COLUMN_HOST,
	COLUMN_KERNEL,
	COLUMN_ARCHITECTURE,
	COLUMN_AGENT,
	COLUMN_COUNT,
};

static const struct {
	const char *key;
	const char *heading;
} columns[COLUMN_COUNT] = {
	[COLUMN_HOST] = { "name", "host" },
	[COLUMN_KERNEL] = { "kernel_release", "kernel" },
	[COLUMN_ARCHITECTURE] = { "architecture", "arch" },
	[COLUMN_AGENT] = { "agent_version", "agent" },
};

/* "  CPUs" and "  last batch", and the gaps between the columns above. */
#define OTHER_COLUMNS (6 + 12 + 2 * (COLUMN_COUNT - 1))

/* Enough to recognise a name. */
#define LEAST_NAME_COLUMNS 12

/* Of the further lines of a long label. */
#define INDENT_COLUMNS 4

static void measure(const json_t *rows, int width, int ret_widths[COLUMN_COUNT])
{
	int sum = OTHER_COLUMNS;

	for (size_t i = 0; i < COLUMN_COUNT; i++) {
		size_t longest = strlen(columns[i].heading);

		for (size_t j = 0; j < json_array_size(rows); j++) {
			size_t length = strlen(list_text(json_array_get(rows, j), columns[i].key));

			longest = MAX(longest, MIN(length, (size_t)64));
		}
		ret_widths[i] = (int)longest;
		sum += ret_widths[i];
	}
	while (sum > width) {
		int *wider = ret_widths[COLUMN_HOST] >= ret_widths[COLUMN_KERNEL]
				     ? &ret_widths[COLUMN_HOST]
				     : &ret_widths[COLUMN_KERNEL];

		if (*wider <= LEAST_NAME_COLUMNS)
			return;
		(*wider)--;
		sum--;
	}
}

/* Appends a line with @words and the value of label @name, if the host has this label. */
static void append_label(struct bytes *out, const json_t *row, const char *name, const char *words,
			 int width)
{
	const char *value = list_text(json_object_get(row, "labels"), name);

	if (!value[0])
		return;
	(void)bytes_append_format(out, "  %s: ", words);
	printable_append_wrapped(out, value, (int)strlen(words) + 4, INDENT_COLUMNS, width);
	(void)bytes_append_byte(out, '\n');
}

static void append_host(struct bytes *out, const json_t *row, const int widths[COLUMN_COUNT],
			uint64_t now_s)
{
	uint64_t last_s = list_number(row, "last_time");
	char age[NUMBER_TEXT_SIZE];

	format_age(now_s > last_s ? now_s - last_s : 0, age);
	printable_append_cell(out, list_text(row, columns[COLUMN_HOST].key), widths[COLUMN_HOST]);
	(void)bytes_append_format(out, "%4" PRIu64 "  ", list_number(row, "cpus"));
	for (size_t i = COLUMN_KERNEL; i < COLUMN_COUNT; i++)
		printable_append_cell(out, list_text(row, columns[i].key), widths[i]);
	(void)bytes_append_format(out, "%s\n", age);
}

void host_text_write(const json_t *rows, uint64_t now_s, int width, struct bytes *out)
{
	int widths[COLUMN_COUNT];

	measure(rows, width, widths);
	printable_append_cell(out, columns[COLUMN_HOST].heading, widths[COLUMN_HOST]);
	(void)bytes_append_text(out, "CPUs  ");
	for (size_t i = COLUMN_KERNEL; i < COLUMN_COUNT; i++)
		printable_append_cell(out, columns[i].heading, widths[i]);
	(void)bytes_append_text(out, "last batch\n");

	for (size_t i = 0; i < json_array_size(rows); i++) {
		const json_t *row = json_array_get(rows, i);

		append_host(out, row, widths, now_s);
		append_label(out, row, "agent.reduced", "reduced to keep its budget", width);
		append_label(out, row, "kernel.lacks", "its kernel lacks", width);
	}
}
