/* SPDX-License-Identifier: Apache-2.0 */

#include "symbolizer/cli/list/diff_text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "symbolizer/cli/client/list_answer.h"
#include "symbolizer/cli/print/number_format.h"
#include "symbolizer/cli/print/printable.h"

/* "+12.34 %  1 m 40 s  1 m 40 s  " */
#define FIGURES_COLUMNS 38

/* Smaller changes are printed as 0. */
#define LEAST_PERCENT 0.005

#define MARK_SIZE 16

static double change_of(const json_t *row, bool by_total)
{
	return json_number_value(json_object_get(row, by_total ? "total_change" : "self_change"));
}

static void append_side(const json_t *answer, const char *name, enum event_type type,
			struct bytes *out)
{
	const json_t *side = json_object_get(answer, name);
	const uint64_t covered_s = list_number(side, "covered_s");
	char value[NUMBER_TEXT_SIZE];

	format_value(type, list_number(side, "total"), value);
	(void)bytes_append_text(out, value);
	if (covered_s > 0)
		(void)bytes_append_format(out, " in %llu s", (unsigned long long)covered_s);
}

static void append_heading(const json_t *answer, const struct diff_text_options *options,
			   struct bytes *out)
{
	const char *service = list_text(json_object_get(answer, "after"), "service");

	if (*service)
		(void)printable_append(out, service, -1);
	else
		(void)bytes_append_text(out, "selection");
	(void)bytes_append_format(out, ", %s: ", list_text(answer, "event"));
	append_side(answer, "base", options->type, out);
	(void)bytes_append_text(out, " before, ");
	append_side(answer, "after", options->type, out);
	(void)bytes_append_text(out, " after\n");
	(void)bytes_append_format(out, "%10s  %11s  %11s  function\n",
				  options->by_total ? "total" : "self", "before", "after");
}

static const char *mark_of(const json_t *row)
{
	const char *state = list_text(row, "state");

	if (strcmp(state, "appeared") == 0)
		return " (new)";
	return strcmp(state, "vanished") == 0 ? " (gone)" : "";
}

static void append_row(const json_t *row, const struct diff_text_options *options,
		       struct bytes *out)
{
	const char *base = options->by_total ? "base_total_value" : "base_self_value";
	const char *after = options->by_total ? "total_value" : "self_value";
	double change = change_of(row, options->by_total);
	char before_text[NUMBER_TEXT_SIZE], after_text[NUMBER_TEXT_SIZE];
	const char *mark = mark_of(row);
	int room = options->width - FIGURES_COLUMNS - (int)strlen(mark);

	if (fabs(change) < LEAST_PERCENT)
		change = 0;
	format_value(options->type, list_number(row, base), before_text);
	format_value(options->type, list_number(row, after), after_text);
	(void)bytes_append_format(out, "%+8.2f %%  %11s  %11s  ", change, before_text, after_text);
	(void)printable_append(out, list_text(row, "function"), MAX(room, MARK_SIZE));
	(void)bytes_append_format(out, "%s\n", mark);
}

void diff_text_write(const json_t *answer, const struct diff_text_options *options,
		     struct bytes *out)
{
	const json_t *rows = json_object_get(answer, "functions");
	size_t count = json_array_size(rows);
	size_t shown = options->max_rows > 0 ? MIN(count, options->max_rows) : count;

	append_heading(answer, options, out);
	for (size_t i = 0; i < shown; i++)
		append_row(json_array_get(rows, i), options, out);
	if (shown < count)
		(void)bytes_append_format(out, "%zu more (--rows 0 shows all)\n", count - shown);
}

size_t diff_text_grown(const json_t *answer, bool by_total, double percent,
		       const json_t **ret_first)
{
	const json_t *rows = json_object_get(answer, "functions");
	size_t count = 0;

	for (size_t i = 0; i < json_array_size(rows); i++) {
		const json_t *row = json_array_get(rows, i);

		if (change_of(row, by_total) <= percent)
			continue;
		if (count++ == 0)
			*ret_first = row;
	}
	return count;
}
