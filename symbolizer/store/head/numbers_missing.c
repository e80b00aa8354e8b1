/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "common/arena.h"
#include "symbolizer/store/head/numbers.h"

void numbers_missing_release(struct numbers_missing *missing)
{
	vec_release(&missing->stacks);
	vec_release(&missing->series);
	vec_release(&missing->processes);
	vec_release(&missing->objects);
}

bool numbers_missing_any(const struct numbers_missing *missing)
{
	return missing->stacks.count || missing->series.count || missing->processes.count ||
	       missing->objects.count;
}

static int compare_numbers(const void *a, const void *b)
{
	uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;

	return (left > right) - (left < right);
}

static void sort_list(struct numbers_list *list)
{
	size_t n_kept = 0;

	if (list->count > 0)
		qsort(list->items, list->count, sizeof(*list->items), compare_numbers);
	for (size_t i = 0; i < list->count; i++) {
		if (n_kept == 0 || list->items[n_kept - 1] != list->items[i])
			list->items[n_kept++] = list->items[i];
	}
	list->count = n_kept;
}

static void sort(struct numbers_missing *missing)
{
	sort_list(&missing->stacks);
	sort_list(&missing->series);
	sort_list(&missing->processes);
	sort_list(&missing->objects);
}

/*
 * Removes the numbers that the batch defines: their definitions refer to unknown numbers, but the
 * agent sends them again with the batch. @definitions[@count] of @size bytes begin with the number.
 */
static int drop_defined(struct numbers_list *list, const void *definitions, size_t count,
			size_t size)
{
	struct numbers_list defined = {};
	size_t n_kept = 0, next = 0;
	int r;

	if (list->count == 0 || count == 0)
		return 0;
	r = vec_reserve(&defined, count);
	if (r < 0)
		return r;
	for (size_t i = 0; i < count; i++)
		memcpy(&defined.items[i], (const uint8_t *)definitions + i * size,
		       sizeof(defined.items[i]));
	defined.count = count;
	sort_list(&defined);
	for (size_t i = 0; i < list->count; i++) {
		while (next < defined.count && defined.items[next] < list->items[i])
			next++;
		if (next == defined.count || defined.items[next] != list->items[i])
			list->items[n_kept++] = list->items[i];
	}
	list->count = n_kept;
	vec_release(&defined);
	return 0;
}

static_assert(offsetof(struct batch_stack, number) == 0 &&
		      offsetof(struct batch_series, number) == 0 &&
		      offsetof(struct batch_process, number) == 0,
	      "drop_defined() reads the first field");

static int drop_all_defined(struct numbers_missing *missing, const struct batch *batch)
{
	int r = drop_defined(&missing->stacks, batch->stacks, batch->n_stacks,
			     sizeof(*batch->stacks));

	if (r == 0)
		r = drop_defined(&missing->series, batch->series, batch->n_series,
				 sizeof(*batch->series));
	if (r == 0)
		r = drop_defined(&missing->processes, batch->processes, batch->n_processes,
				 sizeof(*batch->processes));
	return r;
}

static int copy_list(const struct numbers_list *list, struct arena *arena, uint32_t **ret_numbers,
		     size_t *ret_count)
{
	*ret_count = list->count;
	*ret_numbers = arena_alloc_array(arena, list->count, sizeof(**ret_numbers));
	if (!*ret_numbers)
		return -ENOMEM;
	for (size_t i = 0; i < list->count; i++)
		(*ret_numbers)[i] = list->items[i];
	return 0;
}

/* The numbers of code objects are the last ones, because they have the highest bit. */
static void split_objects(struct store_missing *missing)
{
	size_t n = 0;

	while (n < missing->n_executables && !(missing->executables[n] & FRAME_CODE_OBJECT))
		n++;
	missing->code_objects = missing->executables + n;
	missing->n_code_objects = missing->n_executables - n;
	missing->n_executables = n;
	for (size_t i = 0; i < missing->n_code_objects; i++)
		missing->code_objects[i] &= ~FRAME_CODE_OBJECT;
}

int numbers_missing_return(struct numbers_missing *missing, const struct batch *batch,
			   struct arena *arena, struct store_missing *ret_missing)
{
	struct store_missing result = {};
	int r;

	sort(missing);
	r = drop_all_defined(missing, batch);
	if (r == 0)
		r = copy_list(&missing->stacks, arena, &result.stacks, &result.n_stacks);
	if (r == 0)
		r = copy_list(&missing->series, arena, &result.series, &result.n_series);
	if (r == 0)
		r = copy_list(&missing->processes, arena, &result.processes, &result.n_processes);
	if (r == 0)
		r = copy_list(&missing->objects, arena, &result.executables, &result.n_executables);
	if (r < 0)
		return r;
	split_objects(&result);
	*ret_missing = result;
	return STORE_NEEDS_NUMBERS;
}
