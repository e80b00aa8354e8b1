/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Shared by collector.c (adds samples), collector_stacks.c (stacks of recent windows) and
 * window_builder.c (closes the window).
 */

#include "agent/sample/code_namer.h"
#include "agent/sample/collector.h"
#include "common/arena.h"
#include "common/vec.h"

struct open_stack {
	uint64_t content_hash;
	uint32_t number;
	uint32_t n_frames;
	uint32_t n_samples; /* of the window */
	uint8_t cut;
	/* another stack of the window has the same frames since its code was named */
	bool is_duplicate;
	/* number of the process, if the stack has code without a name: equal addresses in other
	 * processes are other code; else 0 */
	uint32_t process;
	const struct window_frame *frames; /* in the window's arena */
};

VEC_DEFINE(open_stack_vec, struct open_stack);
VEC_DEFINE(row_vec, struct window_row);

/*
 * Stacks of one window. The stacks of the two windows before are kept too, because a hash may refer
 * to them. The kernel side assigns a stack to the next window as soon as the agent has announced
 * that window, but the agent still adds the samples that it then reads from the ring to the window
 * that it closes. A wait that begins in the next window has only the hash, and may end in the
 * window after it.
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
	struct event_fold folds[EVENT_TYPE_END];
	struct collector_stats stats;
	struct definitions definitions;
	uint64_t window;
	struct window_stacks open;
	struct window_stacks before, older;
	struct row_vec rows;
	/* sampled in this window; uint32_t number -> struct process * */
	struct hash_table *processes;
	struct hash_table *process_stacks; /* struct process_stack with noted paths */
	struct arena *close_arena;         /* memory of the window that was closed last */
	struct code_namer namer;           /* functions are NULL: code is not named */
	struct window_frame scratch[STACK_MAX_FRAMES];
};

/* Hash of the frames of @stack, and of its process if it has code without a name. */
uint64_t collector_content_hash(const struct open_stack *stack);

int collector_init_stacks(struct collector *collector);
void collector_release_stacks(struct collector *collector);

/* Finds or adds the stack of a sample with frames. *ret_index: in the open window. */
int collector_add_stack(struct collector *collector, struct process *process,
			const struct abi_sample *sample, const struct abi_frame *frames,
			uint32_t *ret_index);

/* 1: found, and added to the open window; 0: the hash is not known in any window. */
int collector_stack_by_hash(struct collector *collector, const struct process *process,
			    const struct abi_sample *sample, uint32_t *ret_index);

/*
 * Names code without an executable in the stacks of the open window, and gives the stacks and rows
 * the numbers that belong to the new frames. To be called when the window closes. 0 or -ENOMEM.
 */
int collector_name_code(struct collector *collector);
