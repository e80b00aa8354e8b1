/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From overlapping candidates to ranges that do not overlap. Candidates are sorted by start, best
 * name first; those with one start become one function. Then one sweep keeps the open functions on
 * a stack: the innermost, that is the one that started last, owns the bytes.
 */

#include <string.h>

#include "common/scoped.h"
#include "symbolizer/symbols/elf/function_candidate.h"
#include "symbolizer/symbols/symbol_limits.h"

static size_t leading_underscores(const char *name)
{
	return strspn(name, "_");
}

/* Which of two names for one address is the better one; see function_candidate.h. */
static int compare_names(const struct function_candidate *a, const struct function_candidate *b)
{
	size_t a_underscores, b_underscores;

	if (a->label != b->label)
		return a->label - b->label;
	if (a->weak != b->weak)
		return a->weak - b->weak;
	if ((a->size == 0) != (b->size == 0))
		return a->size == 0 ? 1 : -1;
	a_underscores = leading_underscores(a->name);
	b_underscores = leading_underscores(b->name);
	if (a_underscores != b_underscores)
		return a_underscores < b_underscores ? -1 : 1;
	return strcmp(a->name, b->name);
}

static int compare_candidates(const void *left, const void *right)
{
	const struct function_candidate *a = left;
	const struct function_candidate *b = right;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	return compare_names(a, b);
}

/* Leaves one candidate per start: the best name with the largest size. Returns how many. */
static size_t merge_aliases(struct candidate_vec *functions)
{
	size_t kept = 0;

	for (size_t i = 0; i < functions->count; i++) {
		const struct function_candidate *next = &functions->items[i];

		if (kept > 0 && functions->items[kept - 1].start == next->start) {
			struct function_candidate *best = &functions->items[kept - 1];

			best->size = MAX(best->size, next->size);
			best->limit = MAX(best->limit, next->limit);
		} else {
			functions->items[kept++] = *next;
		}
	}
	return kept;
}

/* Sizes what has none; drops labels within functions, not those within a label that has a size. Returns
 * how many are left. */
static size_t infer_sizes(struct function_candidate *functions, size_t count)
{
	uint64_t functions_end = 0; /* of those so far that have a size */
	size_t kept = 0;

	for (size_t i = 0; i < count; i++) {
		struct function_candidate function = functions[i];

		if (function.size == 0) {
			uint64_t end = function.limit;

			if (function.start < functions_end)
				continue;
			if (i + 1 < count)
				end = MIN(end, functions[i + 1].start);
			if (end <= function.start)
				continue;
			function.size = end - function.start;
		} else {
			function.size = MIN(function.size, UINT64_MAX - function.start);
			if (!function.label)
				functions_end = MAX(functions_end, function.start + function.size);
		}
		functions[kept++] = function;
	}
	return kept;
}

static int append_range(struct function_range_vec *ranges, uint64_t start, uint64_t end,
			const struct function_range *function)
{
	if (start >= end)
		return 0;
	return vec_push(ranges, (struct function_range){ .start = start,
							 .end = end,
							 .name = function->name,
							 .label = function->label });
}

/* Closes the open functions that end at or before @until. */
static int close_functions(struct function_range_vec *open, uint64_t until, uint64_t *cursor,
			   struct function_range_vec *ranges)
{
	while (open->count > 0 && open->items[open->count - 1].end <= until) {
		const struct function_range *innermost = &open->items[--open->count];
		int r;

		r = append_range(ranges, *cursor, innermost->end, innermost);
		if (r < 0)
			return r;
		*cursor = MAX(*cursor, innermost->end);
	}
	return 0;
}

static int sweep(const struct function_candidate *functions, size_t count,
		 struct function_range_vec *open, struct function_range_vec *ranges)
{
	uint64_t cursor = 0;
	int r;

	for (size_t i = 0; i < count; i++) {
		const struct function_candidate *function = &functions[i];

		r = close_functions(open, function->start, &cursor, ranges);
		if (r == 0 && open->count > 0)
			r = append_range(ranges, cursor, function->start,
					 &open->items[open->count - 1]);
		if (r < 0)
			return r;
		cursor = function->start;
		r = vec_push(open, (struct function_range){ .start = function->start,
							    .end = function->start + function->size,
							    .name = function->name,
							    .label = function->label });
		if (r < 0)
			return r;
	}
	return close_functions(open, UINT64_MAX, &cursor, ranges);
}

int function_ranges_make(struct candidate_vec *functions, struct function_range_vec *ranges)
{
	struct function_range_vec open = {};
	size_t count;
	int r;

	if (functions->count == 0)
		return 0;
	qsort(functions->items, functions->count, sizeof(*functions->items), compare_candidates);
	count = merge_aliases(functions);
	count = infer_sizes(functions->items, count);
	r = sweep(functions->items, count, &open, ranges);
	vec_release(&open);
	return r;
}
