/* SPDX-License-Identifier: Apache-2.0 */

#include "symbolizer/cli/list/regression_text.h"

#include <string.h>

#include "symbolizer/cli/client/list_answer.h"
#include "symbolizer/cli/print/printable.h"

/* "  +0.79 points (+0.61 to +0.97)  20.00 % -> 20.79 %    +5.0 %  " */
#define FIGURES_COLUMNS 66

#define MIN_NAME_COLUMNS 16

static double number_at(const json_t *row, const char *key)
{
	return json_number_value(json_object_get(row, key));
}

static double bound_of(const json_t *row, size_t index)
{
	return json_number_value(json_array_get(json_object_get(row, "change_interval"), index));
}

static void append_side(const json_t *answer, const char *name, struct bytes *out)
{
	const json_t *samples = json_object_get(json_object_get(answer, name), "samples");

	if (json_is_integer(samples))
		(void)bytes_append_format(out, "%lld samples ",
					  (long long)json_integer_value(samples));
}

static void append_heading(const json_t *answer, struct bytes *out)
{
	const char *service = list_text(json_object_get(answer, "after"), "service");

	if (*service)
		(void)printable_append(out, service, -1);
	else
		(void)bytes_append_text(out, "selection");
	(void)bytes_append_format(out, ", %s: ", list_text(answer, "event"));
	append_side(answer, "base", out);
	(void)bytes_append_text(out, "before, ");
	append_side(answer, "after", out);
	(void)bytes_append_format(out, "after, confidence %g %%, %llu functions judged\n",
				  number_at(answer, "confidence"),
				  (unsigned long long)list_number(answer, "judged"));
}

static void append_row(const json_t *row, int width, struct bytes *out)
{
	const json_t *growth = json_object_get(row, "growth");
	const char *within = list_text(row, "within");

	(void)bytes_append_format(out, "%+7.2f points (%+.2f to %+.2f)  %5.2f %% -> %5.2f %%  ",
				  number_at(row, "change"), bound_of(row, 0), bound_of(row, 1),
				  number_at(row, "base_share"), number_at(row, "share"));
	if (json_is_number(growth))
		(void)bytes_append_format(out, "%+6.1f %%  ", json_number_value(growth));
	else
		(void)bytes_append_text(out, "     new  ");
	(void)printable_append(out, list_text(row, "function"),
			       MAX(width - FIGURES_COLUMNS, MIN_NAME_COLUMNS));
	if (strcmp(list_text(row, "of"), "total") == 0)
		(void)bytes_append_text(out, " (total)");
	if (*within) {
		(void)bytes_append_text(out, " (within ");
		(void)printable_append(out, within, MIN_NAME_COLUMNS * 2);
		(void)bytes_append_byte(out, ')');
	}
	(void)bytes_append_byte(out, '\n');
}

static void append_rows(const json_t *answer, const char *key, const char *title, uint32_t max_rows,
			int width, struct bytes *out)
{
	const json_t *rows = json_object_get(answer, key);
	const size_t count = json_array_size(rows);
	const size_t shown = max_rows > 0 ? MIN(count, (size_t)max_rows) : count;

	if (count == 0)
		return;
	(void)bytes_append_format(out, "%s:\n", title);
	for (size_t i = 0; i < shown; i++)
		append_row(json_array_get(rows, i), width, out);
	if (shown < count)
		(void)bytes_append_format(out, "  %zu more (--rows 0 shows all)\n", count - shown);
}

void regression_text_write(const json_t *answer, uint32_t max_rows, int width, struct bytes *out)
{
	append_heading(answer, out);
	if (json_array_size(json_object_get(answer, "regressions")) == 0)
		(void)bytes_append_text(out, "no regression beyond chance\n");
	append_rows(answer, "regressions", "regressions", max_rows, width, out);
	append_rows(answer, "moved", "moved within a subtree, no regression", max_rows, width, out);
	append_rows(answer, "went_away", "grew and fell back before the end", max_rows, width, out);
	append_rows(answer, "improved", "improved", max_rows, width, out);
}

size_t regression_text_above(const json_t *answer, double percent, const json_t **ret_first)
{
	const json_t *rows = json_object_get(answer, "regressions");
	size_t count = 0;

	for (size_t i = 0; i < json_array_size(rows); i++) {
		const json_t *row = json_array_get(rows, i);

		if (bound_of(row, 0) <= percent)
			continue;
		if (count++ == 0)
			*ret_first = row;
	}
	return count;
}
