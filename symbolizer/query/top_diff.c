/* SPDX-License-Identifier: Apache-2.0 */
/* Both lists are sorted by label and type, and merged. */

#include "symbolizer/query/top_diff.h"

#include <math.h>
#include <string.h>

static const char *const mode_names[] = {
	[TOP_DIFF_RELATIVE] = "relative",
	[TOP_DIFF_NORMALISED] = "normalised",
	[TOP_DIFF_ABSOLUTE] = "absolute",
};

bool top_diff_mode_from_name(const char *name, enum top_diff_mode *ret_mode)
{
	for (size_t i = 0; i < ARRAY_SIZE(mode_names); i++) {
		if (strcmp(name, mode_names[i]) == 0) {
			*ret_mode = (enum top_diff_mode)i;
			return true;
		}
	}
	return false;
}

const char *top_diff_mode_name(enum top_diff_mode mode)
{
	return mode_names[mode];
}

static double ratio(double part, double whole)
{
	return whole > 0 ? part / whole : 0;
}

/* Returns the change of a value in per cent. */
static double change_of(const struct top_diff_input *input, uint64_t before, uint64_t after)
{
	const struct top_diff_side *base = &input->base, *now = &input->after;
	const double whole = (double)base->whole;

	switch (input->mode) {
	case TOP_DIFF_RELATIVE:
		return 100 *
		       (ratio((double)after, (double)now->whole) - ratio((double)before, whole));
	case TOP_DIFF_NORMALISED:
		return 100 * ratio((double)after / now->seconds - (double)before / base->seconds,
				   whole / base->seconds);
	case TOP_DIFF_ABSOLUTE:
		break;
	}
	return 100 * ratio((double)after - (double)before, whole);
}

static int compare_functions(const struct top_row *a, const struct top_row *b)
{
	int order = strcmp(a->label, b->label);

	return order ? order : a->type - b->type;
}

static int compare_rows(const void *left, const void *right)
{
	return compare_functions(left, right);
}

static void set_changes(const struct top_diff_input *input, struct top_diff_row *row)
{
	row->self_change = change_of(input, row->base_self, row->self);
	row->total_change = change_of(input, row->base_total, row->total);
}

/* Merges two sorted lists. Returns the number of rows. */
static size_t merge(const struct top_diff_input *input, struct top_diff_row *rows)
{
	size_t n_before = input->base.n_rows, n_after = input->after.n_rows;
	size_t i = 0, j = 0, count = 0;

	while (i < n_before || j < n_after) {
		const struct top_row *before = i < n_before ? &input->base.rows[i] : NULL;
		const struct top_row *after = j < n_after ? &input->after.rows[j] : NULL;
		int order = !before ? 1 : !after ? -1 : compare_functions(before, after);
		const struct top_row *any = order <= 0 ? before : after;
		struct top_diff_row *row = &rows[count++];

		*row = (struct top_diff_row){ .label = any->label, .type = any->type };
		if (order <= 0) {
			row->base_self = before->self;
			row->base_total = before->total;
			i++;
		}
		if (order >= 0) {
			row->self = after->self;
			row->total = after->total;
			j++;
		}
		set_changes(input, row);
	}
	return count;
}

static int compare_changes(double a, double b)
{
	if (fabs(a) != fabs(b))
		return fabs(a) > fabs(b) ? -1 : 1;
	return a > b ? -1 : a < b;
}

static int compare_by_self(const void *left, const void *right)
{
	const struct top_diff_row *a = left, *b = right;
	int order = compare_changes(a->self_change, b->self_change);

	if (order == 0)
		order = compare_changes(a->total_change, b->total_change);
	if (order == 0)
		order = strcmp(a->label, b->label);
	return order ? order : a->type - b->type;
}

static int compare_by_total(const void *left, const void *right)
{
	const struct top_diff_row *a = left, *b = right;
	int order = compare_changes(a->total_change, b->total_change);

	return order ? order : compare_by_self(left, right);
}

int top_diff_make(const struct top_diff_input *input, struct arena *arena,
		  struct top_diff_row **ret_rows, size_t *ret_count)
{
	const size_t most = input->base.n_rows + input->after.n_rows;
	struct top_diff_row *rows = arena_alloc_array(arena, most + 1, sizeof(*rows));

	if (!rows)
		return -ENOMEM;
	if (input->base.n_rows > 0)
		qsort(input->base.rows, input->base.n_rows, sizeof(struct top_row), compare_rows);
	if (input->after.n_rows > 0)
		qsort(input->after.rows, input->after.n_rows, sizeof(struct top_row), compare_rows);
	*ret_count = merge(input, rows);
	qsort(rows, *ret_count, sizeof(*rows),
	      input->by_total ? compare_by_total : compare_by_self);
	*ret_rows = rows;
	return 0;
}
