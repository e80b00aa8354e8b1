/* SPDX-License-Identifier: Apache-2.0 */
/*
 * After sorting, stacks with the same outermost frames are adjacent. Each stack lists only the
 * frames that it does not share with the stack before it. A frame refers to its space, the pair of
 * kind and object, by an index, which takes one byte for the first 128 spaces. Addresses are
 * differences within their space, because successive frames often are close together in the file.
 */
#include "agent/wire/encode_tables.h"

#include <stdlib.h>

#include "common/hash_table.h"
#include "common/scoped.h"

/* More than fit into BATCH_MAX_BYTES with two bytes per frame. */
#define MAX_BATCH_FRAMES ((size_t)(BATCH_MAX_BYTES / 2))

/* Key of a space. Compared byte by byte: without padding. */
struct space_key {
	uint32_t object;
	uint32_t kind;
};

struct space {
	uint32_t index; /* of the space in the table */
	uint64_t last_address;
};

struct stack_encoder {
	Hearth__V1__StackTable *table;
	struct hash_table *spaces; /* struct space_key -> struct space */
};

/* The frame at @depth, counted from the outermost frame. */
static const struct window_frame *frame_from_root(const struct window_stack *stack, uint32_t depth)
{
	return &stack->frames[stack->n_frames - 1 - depth];
}

static int compare_frames(const struct window_frame *a, const struct window_frame *b)
{
	if (a->object != b->object)
		return a->object < b->object ? -1 : 1;
	if (a->kind != b->kind)
		return a->kind < b->kind ? -1 : 1;
	return (a->address > b->address) - (a->address < b->address);
}

static int compare_stacks(const void *a, const void *b)
{
	const struct window_stack *one = a, *other = b;
	uint32_t common_depth = MIN(one->n_frames, other->n_frames);

	for (uint32_t i = 0; i < common_depth; i++) {
		int order = compare_frames(frame_from_root(one, i), frame_from_root(other, i));

		if (order != 0)
			return order;
	}
	if (one->n_frames != other->n_frames)
		return one->n_frames < other->n_frames ? -1 : 1;
	return (one->number > other->number) - (one->number < other->number);
}

static uint32_t shared_frames(const struct window_stack *before, const struct window_stack *stack)
{
	uint32_t most = MIN(before->n_frames, stack->n_frames);
	uint32_t shared = 0;

	while (shared < most &&
	       compare_frames(frame_from_root(before, shared), frame_from_root(stack, shared)) == 0)
		shared++;
	return shared;
}

static int encode_frame(struct stack_encoder *encoder, const struct window_frame *frame)
{
	const struct space_key key = { .object = frame->object, .kind = frame->kind };
	Hearth__V1__StackTable *table = encoder->table;
	struct space *space;
	int r;

	if (frame->kind == 0)
		return -ERANGE;
	r = hash_table_insert(encoder->spaces, &key, (void **)&space);
	if (r < 0)
		return r;
	if (r == 1)
		space->index = (uint32_t)hash_table_count(encoder->spaces) - 1;
	table->frame_space[table->n_frame_space++] = space->index;
	table->frame_address[table->n_frame_address++] =
		(int64_t)(frame->address - space->last_address);
	space->last_address = frame->address;
	return 0;
}

static int encode_stack(struct stack_encoder *encoder, const struct window_stack *before,
			const struct window_stack *stack)
{
	Hearth__V1__StackTable *table = encoder->table;
	uint32_t shared = before ? shared_frames(before, stack) : 0;

	table->number[table->n_number++] = stack->number;
	table->shared[table->n_shared++] = shared;
	table->n_frames[table->n_n_frames++] = stack->n_frames - shared;
	table->cut[table->n_cut++] = stack->cut;
	for (uint32_t i = shared; i < stack->n_frames; i++) {
		int r = encode_frame(encoder, frame_from_root(stack, i));

		if (r < 0)
			return r;
	}
	return 0;
}

/* Allocates columns for all frames; the entries for shared frames stay unused. */
static int new_table(const struct window *window, struct arena *arena,
		     Hearth__V1__StackTable **ret_table)
{
	Hearth__V1__StackTable *table = arena_alloc(arena, sizeof(*table));
	size_t n_frames = 0;

	if (!table)
		return -ENOMEM;
	hearth__v1__stack_table__init(table);
	for (size_t i = 0; i < window->n_stacks; i++) {
		n_frames += window->stacks[i].n_frames;
		if (n_frames > MAX_BATCH_FRAMES)
			return -EFBIG;
	}
	table->number = arena_alloc_array(arena, window->n_stacks, sizeof(uint32_t));
	table->shared = arena_alloc_array(arena, window->n_stacks, sizeof(uint32_t));
	table->n_frames = arena_alloc_array(arena, window->n_stacks, sizeof(uint32_t));
	table->cut = arena_alloc_array(arena, window->n_stacks, sizeof(uint32_t));
	table->frame_space = arena_alloc_array(arena, n_frames + 1, sizeof(uint32_t));
	table->frame_address = arena_alloc_array(arena, n_frames + 1, sizeof(int64_t));
	if (!table->number || !table->shared || !table->n_frames || !table->cut ||
	    !table->frame_space || !table->frame_address)
		return -ENOMEM;
	*ret_table = table;
	return 0;
}

/* Lists the spaces of the frames that were encoded. */
static int encode_spaces(struct stack_encoder *encoder, struct arena *arena)
{
	Hearth__V1__StackTable *table = encoder->table;
	size_t count = hash_table_count(encoder->spaces);
	bool has_code = false;
	const void *found_key;
	size_t cursor = 0;
	void *value;

	table->space_kind = arena_alloc_array(arena, count + 1, sizeof(uint32_t));
	table->space_executable = arena_alloc_array(arena, count + 1, sizeof(uint32_t));
	table->space_code_object = arena_alloc_array(arena, count + 1, sizeof(uint32_t));
	if (!table->space_kind || !table->space_executable || !table->space_code_object)
		return -ENOMEM;
	while (hash_table_next(encoder->spaces, &cursor, &found_key, &value)) {
		const struct space_key *key = found_key;
		uint32_t index = ((const struct space *)value)->index;
		bool is_code = key->object & FRAME_CODE_OBJECT;

		table->space_kind[index] = key->kind;
		table->space_executable[index] = is_code ? 0 : key->object;
		table->space_code_object[index] = is_code ? key->object & ~FRAME_CODE_OBJECT : 0;
		has_code |= is_code;
	}
	table->n_space_kind = table->n_space_executable = count;
	/* Most batches have no frame in a code object. */
	table->n_space_code_object = has_code ? count : 0;
	return 0;
}

int encode_stacks(struct window *window, struct arena *arena, Hearth__V1__StackTable **ret_table)
{
	scoped(hash_table_freep) struct hash_table *spaces = NULL;
	struct stack_encoder encoder = {};
	int r;

	*ret_table = NULL;
	if (window->n_stacks == 0)
		return 0;
	r = new_table(window, arena, &encoder.table);
	if (r < 0)
		return r;
	r = hash_table_new(sizeof(struct space_key), sizeof(struct space), 0, &spaces);
	if (r < 0)
		return r;
	encoder.spaces = spaces;

	qsort(window->stacks, window->n_stacks, sizeof(*window->stacks), compare_stacks);
	for (size_t i = 0; i < window->n_stacks; i++) {
		r = encode_stack(&encoder, i > 0 ? &window->stacks[i - 1] : NULL,
				 &window->stacks[i]);
		if (r < 0)
			return r;
	}
	r = encode_spaces(&encoder, arena);
	if (r < 0)
		return r;
	*ret_table = encoder.table;
	return 0;
}
