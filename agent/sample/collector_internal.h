/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What collector.c (samples in) and window_builder.c (window out) share.
 */

#include "agent/sample/collector.h"
#include "agent/sample/wait_shares.h"
#include "common/arena.h"
#include "common/vec.h"

struct open_stack {
	uint64_t content_hash;
	uint32_t number;
	uint32_t n_frames;
	uint8_t cut;
	const struct window_frame *frames; /* in the window's arena */
};

VEC_DEFINE(open_stack_vec, struct open_stack);
VEC_DEFINE(row_vec, struct window_row);

/*
 * Stacks of one window. Those of the two windows before are kept too, because a hash may refer to
 * them: the kernel side counts a stack for the next window as soon as the agent has announced that
 * window, but the agent still folds what it then reads from the ring into the window that it
 * closes. A wait that begins in the next window has the hash alone, and may end in the one after
 * it.
 */
struct window_stacks {
	struct arena *arena;
	struct open_stack_vec stacks;
	struct hash_table *by_sample_hash; /* uint64_t -> uint32_t index */
	struct hash_table *by_content;     /* uint64_t -> uint32_t index */
};

struct process_stack {
	uint32_t process; /* number */
	uint32_t stack;   /* number */
};

struct collector {
	struct collector_options options;
	struct collector_stats stats;
	struct definitions definitions;
	uint64_t window;
	struct window_stacks open;
	struct window_stacks before, older;
	struct row_vec rows;
	struct wait_shares wait_shares;
	struct hash_table
		*processes; /* uint32_t number -> struct process *: sampled in this window */
	struct hash_table *process_stacks; /* struct process_stack: paths were noted */
	struct hash_table *named_frames;   /* uint64_t key */
	struct arena *close_arena;         /* what the last close handed out */
	struct window_frame scratch[STACK_MAX_FRAMES];
};
