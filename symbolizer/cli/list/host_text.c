/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Columns are as wide as their longest text. If a line does not fit, the columns of host names and
 * kernel names become narrower, the wider of the two first.
 */

#include "symbolizer/cli/list/host_text.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
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

/* Minimum width of a column of names: enough to recognise a name. */
#define LEAST_NAME_COLUMNS 12

/* Indentation of the second and further lines of a long label. */
#define INDENT_COLUMNS 4

/* Smaller losses have no line. The server's messages about profiles have the same thresholds. */
#define LEAST_LOST_PCT  1.0
#define LEAST_CUT_PCT   10.0
#define LEAST_OFFSET_MS 2000

/* The range of the request of hearth hosts. */
#define LOSSES_WORDS "in the last 15 minutes"

/* Room for a part of the line about losses. */
#define PART_SIZE 80

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

/* Appends a part of a sentence, after "; " if it is not the first. */
static void append_part(struct bytes *text, const char *format, ...) printf_like(2, 3);
static void append_part(struct bytes *text, const char *format, ...)
{
	char part[PART_SIZE];
	va_list arguments;

	va_start(arguments, format);
	(void)vsnprintf(part, sizeof(part), format, arguments);
	va_end(arguments);
	if (text->size > 0)
		(void)bytes_append_text(text, "; ");
	(void)bytes_append_text(text, part);
}

/* Returns the percentage of @part in @whole if it is at least @least, else 0. */
static double percent(uint64_t part, uint64_t whole, double least)
{
	double share = whole > 0 ? 100.0 * (double)part / (double)whole : 0;

	return share >= least ? share : 0;
}

static void describe_ticks(const json_t *losses, struct bytes *text)
{
	uint64_t ring_full = list_number(losses, "ticks_lost_ring_full");
	uint64_t other =
		list_number(losses, "ticks_lost_failed") + list_number(losses, "ticks_missed");
	uint64_t all = list_number(losses, "ticks_sampled") + ring_full + other;
	uint64_t waits = list_number(losses, "waits_lost");
	uint64_t all_waits = list_number(losses, "waits_sampled") + waits;

	if (percent(ring_full, all, LEAST_LOST_PCT) > 0)
		append_part(text, "%.2g %% of the samples lost in the ring buffer",
			    percent(ring_full, all, 0));
	if (percent(other, all, LEAST_LOST_PCT) > 0)
		append_part(text, "%.2g %% of the timer ticks not taken", percent(other, all, 0));
	if (percent(waits, all_waits, LEAST_LOST_PCT) > 0)
		append_part(text, "%.2g %% of the waits lost in the ring buffer",
			    percent(waits, all_waits, 0));
}

static void describe_losses(const json_t *row, struct bytes *text)
{
	const json_t *losses = json_object_get(row, "losses");
	json_int_t offset_ms = json_integer_value(json_object_get(row, "clock_offset_ms"));
	uint64_t samples = list_number(losses, "samples");
	uint64_t cut = list_number(losses, "stacks_cut");
	uint64_t missing =
		MAX(list_number(losses, "batches_dropped"), list_number(losses, "batches_missing"));

	describe_ticks(losses, text);
	if (percent(list_number(losses, "stacks_lost"), samples, LEAST_LOST_PCT) > 0)
		append_part(text, "%.2g %% of the samples without their stack",
			    percent(list_number(losses, "stacks_lost"), samples, 0));
	if (percent(cut, samples, LEAST_CUT_PCT) > 0)
		append_part(text, "%.2g %% of the stacks end early", percent(cut, samples, 0));
	if (list_number(losses, "gap_s") > 0)
		append_part(text, "no agent for %" PRIu64 " s", list_number(losses, "gap_s"));
	if (missing > 0)
		append_part(text, "%" PRIu64 " batches missing", missing);
	if (list_number(losses, "frequency_lowered_s") > 0)
		append_part(text, "frequency lowered for %" PRIu64 " s",
			    list_number(losses, "frequency_lowered_s"));
	if (llabs(offset_ms) >= LEAST_OFFSET_MS)
		append_part(text, "its clock is %.4g s %s the server's",
			    (double)llabs(offset_ms) / 1000, offset_ms > 0 ? "ahead of" : "behind");
}

/* Appends a line about the losses, if the row has some that matter. */
static void append_losses(struct bytes *out, const json_t *row, int width)
{
	scoped_bytes struct bytes text = BYTES_INIT(KIB);

	describe_losses(row, &text);
	if (text.size == 0 || bytes_append_byte(&text, 0) < 0)
		return;
	(void)bytes_append_text(out, "  " LOSSES_WORDS ": ");
	printable_append_wrapped(out, (const char *)text.data, (int)strlen(LOSSES_WORDS) + 4,
				 INDENT_COLUMNS, width);
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
		append_losses(out, row, width);
		append_label(out, row, "agent.reduced", "reduced to keep its budget", width);
		append_label(out, row, "kernel.lacks", "its kernel lacks", width);
	}
}
