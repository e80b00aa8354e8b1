/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/export/merged_stacks.h"

#include "symbolizer/flame/saturating_add.h"

/* As many as a tree has nodes. */
#define MAX_STACKS PROFILE_MAX_NODES

/* Memory of a stack in the vector and in the table of children, which doubles. */
#define BYTES_PER_STACK ((uint64_t)sizeof(struct merged_stack) + 2 * (sizeof(struct child_key) + 8))

/* Stacks for which memory is taken at once. */
#define STACKS_AT_ONCE 4096

struct function_key {
	string_id label;
	uint32_t file; /* number of the text; 0: none */
};

struct child_key {
	uint32_t parent;
	uint32_t function;
};

int merged_stacks_init(struct merged_stacks *merged, struct memory_budget *budget)
{
	int r;

	*merged = (struct merged_stacks){ .budget = budget };
	r = hash_table_new(sizeof(struct function_key), sizeof(uint32_t), 0, &merged->functions);
	if (r == 0)
		r = hash_table_new(sizeof(const char *), sizeof(uint32_t), 0, &merged->texts);
	if (r == 0)
		r = hash_table_new(sizeof(struct child_key), sizeof(uint32_t), 0,
				   &merged->children);
	return r;
}

void merged_stacks_release(struct merged_stacks *merged)
{
	merged->functions = hash_table_free(merged->functions);
	merged->texts = hash_table_free(merged->texts);
	merged->children = hash_table_free(merged->children);
	vec_release(&merged->items);
	memory_budget_give(merged->budget, merged->taken_bytes);
	merged->taken_bytes = 0;
}

static int number_function(struct merged_stacks *merged, const struct resolved_stacks *stacks,
			   const struct resolved_frame *frame, uint32_t *ret_number)
{
	const char *file = frame_text_source(stacks, frame);
	struct function_key key = { .label = frame->label };
	int r;

	/* The resolver has each text of an executable once, so its address identifies it. */
	if (file[0]) {
		r = export_number_of(merged->texts, &file, &key.file);
		if (r < 0)
			return r;
		key.file++;
	}
	return export_number_of(merged->functions, &key, ret_number);
}

static int take_memory(struct merged_stacks *merged)
{
	const uint64_t bytes = STACKS_AT_ONCE * BYTES_PER_STACK;

	if (merged->items.count == MAX_STACKS)
		return -EFBIG;
	if (!merged->budget || merged->items.count % STACKS_AT_ONCE != 0)
		return 0;
	if (!memory_budget_take(merged->budget, bytes))
		return -ENOMEM;
	merged->taken_bytes += bytes;
	return 0;
}

static int child_of(struct merged_stacks *merged, uint32_t parent, uint32_t function,
		    uint32_t *ret_child)
{
	const struct child_key key = { parent, function };
	const uint32_t *known = hash_table_find(merged->children, &key);
	int r;

	if (known) {
		*ret_child = *known;
		return 0;
	}
	r = take_memory(merged);
	if (r == 0)
		r = export_number_of(merged->children, &key, ret_child);
	if (r < 0)
		return r;
	return vec_push(&merged->items,
			(struct merged_stack){ .parent = parent, .function = function });
}

/* Returns the frame at @depth, counted from the outermost level. */
static struct resolved_frame frame_at(const struct resolved_stacks *stacks,
				      const struct resolved_stack *stack, uint32_t depth)
{
	const uint32_t n_levels = stack->group->n_levels;

	return depth < n_levels ? frame_text_level(stacks, stack, depth)
				: stack->frames[stack->n_frames - 1 - (depth - n_levels)];
}

int merged_stacks_add(struct merged_stacks *merged, const struct resolved_stacks *stacks,
		      const struct resolved_stack *stack, merged_function new_function, void *arg)
{
	const uint32_t n = stack->group->n_levels + stack->n_frames;
	uint32_t item = MERGED_NO_PARENT;
	int r;

	for (uint32_t depth = 0; depth < n; depth++) {
		const struct resolved_frame frame = frame_at(stacks, stack, depth);
		uint32_t function;

		r = number_function(merged, stacks, &frame, &function);
		if (r > 0)
			r = new_function(arg, stacks, &frame);
		if (r == 0)
			r = child_of(merged, item, function, &item);
		if (r < 0)
			return r;
	}
	if (n > 0)
		merged->items.items[item].value =
			saturating_add(merged->items.items[item].value, stack->value);
	return 0;
}
