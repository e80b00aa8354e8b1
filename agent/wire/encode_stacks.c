/* SPDX-License-Identifier: Apache-2.0 */
/*
 * After sorting, stacks with the same outermost frames are adjacent. Each stack lists only the
 * frames that it does not share with the stack before it. Addresses are differences within their
 * executable, because successive frames often are close together in the file.
 */
#include "agent/wire/encode_tables.h"

#include <stdlib.h>

#include "common/hash_table.h"
#include "common/scoped.h"
#define KIND_BITS             3
#define MAX_EXECUTABLE_NUMBER (UINT32_MAX >> KIND_BITS)

/* More than fit into BATCH_MAX_BYTES with two bytes per frame. */
#define MAX_BATCH_FRAMES ((size_t)(BATCH_MAX_BYTES / 2))

#define MAX_KIND FRAME_KERNEL_NAMED

struct stack_encoder {
	Hearth__V1__StackTable *table;
	struct hash_table *last_addresses; /* frame_kind_executable -> u64 address */
};

/* The frame at @depth, counted from the outermost frame. */
static const struct window_frame *frame_from_root(const struct window_stack *stack, uint32_t depth)
{
	return &stack->frames[stack->n_frames - 1 - depth];
}

static int compare_frames(const struct window_frame *a, const struct window_frame *b)
{
	if (a->executable != b->executable)
		return a->executable < b->executable ? -1 : 1;
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
	Hearth__V1__StackTable *table = encoder->table;
	uint32_t key = frame->kind | frame->executable << KIND_BITS;
	uint64_t *last;
	int r;

	if (frame->executable > MAX_EXECUTABLE_NUMBER || frame->kind == 0 || frame->kind > MAX_KIND)
		return -ERANGE;
	r = hash_table_insert(encoder->last_addresses, &key, (void **)&last);
	if (r < 0)
		return r;
	table->frame_kind_executable[table->n_frame_kind_executable++] = key;
	table->frame_address[table->n_frame_address++] = (int64_t)(frame->address - *last);
	*last = frame->address;
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
	table->frame_kind_executable = arena_alloc_array(arena, n_frames + 1, sizeof(uint32_t));
	table->frame_address = arena_alloc_array(arena, n_frames + 1, sizeof(int64_t));
	if (!table->number || !table->shared || !table->n_frames || !table->cut ||
	    !table->frame_kind_executable || !table->frame_address)
		return -ENOMEM;
	*ret_table = table;
	return 0;
}

int encode_stacks(struct window *window, struct arena *arena, Hearth__V1__StackTable **ret_table)
{
	scoped(hash_table_freep) struct hash_table *last_addresses = NULL;
	struct stack_encoder encoder = {};
	int r;

	*ret_table = NULL;
	if (window->n_stacks == 0)
		return 0;
	r = new_table(window, arena, &encoder.table);
	if (r < 0)
		return r;
	r = hash_table_new(sizeof(uint32_t), sizeof(uint64_t), 0, &last_addresses);
	if (r < 0)
		return r;
	encoder.last_addresses = last_addresses;

	qsort(window->stacks, window->n_stacks, sizeof(*window->stacks), compare_stacks);
	for (size_t i = 0; i < window->n_stacks; i++) {
		r = encode_stack(&encoder, i > 0 ? &window->stacks[i - 1] : NULL,
				 &window->stacks[i]);
		if (r < 0)
			return r;
	}
	*ret_table = encoder.table;
	return 0;
}
