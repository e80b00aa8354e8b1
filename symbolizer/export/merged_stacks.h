/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Merges equal stacks, for formats in which a frame is a function without an address. The levels of
 * a stack (thread, value of group_by) are its outermost frames. Functions are numbered by their
 * label and source file, and stacks are the paths of a tree of these numbers.
 */

#include "common/vec.h"
#include "symbolizer/export/frame_text.h"

#define MERGED_NO_PARENT UINT32_MAX

struct merged_stack {
	uint32_t parent;   /* index of the stack without this frame, lower; or MERGED_NO_PARENT */
	uint32_t function; /* of the innermost frame */
	uint64_t value;    /* 0: no stack ends here */
};

VEC_DEFINE(merged_stack_vec, struct merged_stack);

struct merged_stacks {
	struct hash_table *functions; /* -> uint32_t */
	struct hash_table *texts;     /* of source files: text in the query -> uint32_t */
	struct hash_table *children;  /* -> uint32_t */
	struct merged_stack_vec items;
	struct memory_budget *budget; /* of items and children; or NULL */
	uint64_t taken_bytes;
};

/* The source file of the function is that of @frame. The function's number is one higher than that
 * of the function before. Returns 0 or a negative errno, which ends merged_stacks_add(). */
typedef int (*merged_function)(void *arg, const struct resolved_stacks *stacks,
			       const struct resolved_frame *frame);

/* Returns 0 or -ENOMEM. Release the object in both cases. */
int merged_stacks_init(struct merged_stacks *merged, struct memory_budget *budget);
void merged_stacks_release(struct merged_stacks *merged);

/* Calls @new_function for each function that was not seen before. Returns 0; -EFBIG: there are too
 * many different stacks; -ENOMEM, or what @new_function returned. */
int merged_stacks_add(struct merged_stacks *merged, const struct resolved_stacks *stacks,
		      const struct resolved_stack *stack, merged_function new_function, void *arg);
