/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names code that lies in no executable, when the window closes. A stack whose frames get names
 * gets a new number, and its rows are changed to that number. Two stacks may become equal, because
 * they have different addresses in the same function. Then the batch has only the first of them.
 */
#include <string.h>

#include "agent/sample/collector_internal.h"
#include "common/hash.h"

/*
 * Names code in @frames, a copy of the frames of @stack. *ret_changed: a frame was named.
 * *ret_complete: no unnamed frame is left.
 */
static void name_frames(const struct collector *collector, const struct open_stack *stack,
			struct window_frame *frames, bool *ret_changed, bool *ret_complete)
{
	*ret_changed = false;
	*ret_complete = true;
	for (size_t i = 0; i < stack->n_frames; i++) {
		if (frames[i].kind != FRAME_ANONYMOUS)
			continue;
		if (collector->namer.find(collector->namer.arg, stack->process, frames[i].address,
					  &frames[i]))
			*ret_changed = true;
		else
			*ret_complete = false;
	}
}

/* Replaces the frames of @stack, and its hash and number, which depend on the frames. */
static int replace_frames(struct collector *collector, struct open_stack *stack,
			  const struct window_frame *frames)
{
	struct stack_number *number;
	int r;

	stack->frames =
		arena_copy(collector->open.arena, frames, stack->n_frames * sizeof(*frames));
	if (!stack->frames)
		return -ENOMEM;
	stack->content_hash = collector_content_hash(stack);
	r = definitions_stack(&collector->definitions, stack->content_hash, collector->window,
			      &number);
	if (r < 0)
		return r;
	stack->number = number->number;
	return 0;
}

/* Names one stack. Adds its old and new number to @renumbered if they differ. */
static int name_stack(struct collector *collector, struct open_stack *stack,
		      struct hash_table *renumbered)
{
	const uint32_t old_number = stack->number;
	bool is_changed, is_complete;
	void *value;
	int r;

	memcpy(collector->scratch, stack->frames, stack->n_frames * sizeof(*stack->frames));
	name_frames(collector, stack, collector->scratch, &is_changed, &is_complete);
	if (!is_changed)
		return 0;
	/* Raw addresses have a meaning in one process only; names have the same in all. */
	if (is_complete)
		stack->process = 0;
	r = replace_frames(collector, stack, collector->scratch);
	if (r < 0)
		return r;
	r = hash_table_insert(renumbered, &old_number, &value);
	if (r >= 0)
		*(uint32_t *)value = stack->number;
	return MIN(r, 0);
}

/* Marks each stack that has the same number as an earlier stack. */
static int mark_duplicates(struct open_stack_vec *stacks)
{
	scoped(hash_table_freep) struct hash_table *numbers = NULL;
	int r = hash_table_new(sizeof(uint32_t), 0, 0, &numbers);

	for (size_t i = 0; i < stacks->count && r >= 0; i++) {
		r = hash_table_insert(numbers, &stacks->items[i].number, NULL);
		stacks->items[i].is_duplicate = r == 0;
	}
	return MIN(r, 0);
}

static void renumber_rows(struct row_vec *rows, const struct hash_table *renumbered)
{
	for (size_t i = 0; i < rows->count; i++) {
		const uint32_t *number = hash_table_find(renumbered, &rows->items[i].stack);

		if (number)
			rows->items[i].stack = *number;
	}
}

int collector_name_code(struct collector *collector)
{
	scoped(hash_table_freep) struct hash_table *renumbered = NULL;
	struct open_stack_vec *stacks = &collector->open.stacks;
	int r;

	if (!collector->namer.find)
		return 0;
	r = hash_table_new(sizeof(uint32_t), sizeof(uint32_t), 0, &renumbered);
	for (size_t i = 0; i < stacks->count && r == 0; i++)
		if (stacks->items[i].process != 0)
			r = name_stack(collector, &stacks->items[i], renumbered);
	/* Also after a failure: the stacks before it have new numbers, so their rows need them. */
	if (renumbered && hash_table_count(renumbered) > 0) {
		renumber_rows(&collector->rows, renumbered);
		r = MIN(r, mark_duplicates(stacks));
	}
	return r;
}
