/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Candidates are sorted by start, the best name first, and those with one start are merged. Then a
 * sweep over the addresses keeps the functions around the current address on a stack: the
 * innermost, which started last, gets the bytes.
 */

#include <string.h>

#include "common/scoped.h"
#include "symbolizer/symbols/elf/function_candidate.h"
#include "symbolizer/symbols/symbol_limits.h"

static size_t leading_underscores(const char *name)
{
	return strspn(name, "_");
}

/* Less than 0 if @a has the better name; see function_candidate.h. */
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

/* Leaves one candidate per start, with the best name and the largest size. Returns their number. */
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

/* Gives a size to candidates that have none. Removes labels inside of functions, but keeps labels
 * inside of a label that has a size. Returns the number of candidates left. */
static size_t infer_sizes(struct function_candidate *functions, size_t count)
{
	uint64_t functions_end = 0; /* highest end of a function that has a size */
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

/* Takes the functions off the stack that end at or before @until, and appends their ranges. */
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
