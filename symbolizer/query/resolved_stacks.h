/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The stacks of a selection with the names of their functions, one after another. Flame graphs are
 * merged from them, and exports are written from them.
 *
 * Frames that several stacks share are resolved once. A resolved stack refers to them by numbers
 * and is made when it is visited, so that all of them together need no memory. A visitor must copy
 * what it keeps.
 */

#include "symbolizer/query/frame_label.h"
#include "symbolizer/query/profile.h"
#include "symbolizer/query/series_groups.h"
#include "symbolizer/query/stack_set.h"

/* The label of values with the stack STORE_OTHER_STACKS. */
#define OTHER_STACKS_LABEL "[other stacks]"

#define RESOLVED_NO_FRAME UINT32_MAX

/* A function of a stack. A frame has several if functions are inlined at its address. */
struct resolved_frame {
	string_id label; /* of frame_label.h; resolved_label() has the text */
	uint32_t frame;  /* index in the frame table; RESOLVED_NO_FRAME: "[truncated: ...]" etc. */
	uint32_t function; /* index in the table's functions; FRAME_NO_FUNCTION: it has no name */
	char type;         /* of the tree's node */
	bool inlined;      /* into the next one, which belongs to the same frame */
};

struct resolved_stack {
	uint64_t value; /* in the unit of the event type, not rounded */
	const struct series_group *group;
	const struct resolved_frame *frames; /* [n_frames], leaf first; kernel before user frames */
	uint32_t n_frames;
	uint8_t cut; /* enum stack_cut */
	bool other;  /* of all stacks beyond STORE_SUM_MAX_ITEMS together */
};

VEC_DEFINE(resolved_frame_vec, struct resolved_frame);

/*
 *   frame_of[first_frame[i] + k]  the k-th frame of stack i of @set, an index of @frames
 *
 * The caller sets the fields down to @stats; labels are interned in @tree.
 */
struct resolved_stacks {
	struct store_view *view;
	struct resolver *resolver;
	const struct clock *clock;
	struct arena *arena;
	struct tree *tree;
	const struct series_groups *groups;
	int max_kernel_stack_depth;
	bool no_inlines;
	bool function_starts;
	struct profile_stats *stats;

	struct stack_set set;
	size_t *first_frame;
	uint32_t *frame_of;
	struct frame_table frames;
	struct frame_labels labels;
	struct resolved_frame_vec path; /* of the stack that is visited */
};

struct stack_visitor {
	/* @stack is valid during the call. A negative result ends the visit, which returns it. */
	int (*visit)(void *arg, const struct resolved_stacks *stacks,
		     const struct resolved_stack *stack);
	void *arg;
};

/* Sorts @items, loads their stacks and resolves their frames. 0 or a negative errno; the caller
 * releases @stacks in both cases. */
int resolved_stacks_load(struct resolved_stacks *stacks, struct store_sum *items, size_t n_items);
void resolved_stacks_release(struct resolved_stacks *stacks);

/* Visits the stacks of @items, which were loaded. Returns 0, or a negative errno: -ECANCELED. */
int resolved_stacks_visit(struct resolved_stacks *stacks, const struct store_sum *items,
			  size_t n_items, const struct stack_visitor *visitor);

/* Adds the value of a stack to the figures. @leaf: its innermost frame that is shown; or NULL. */
void resolved_stacks_count(const struct resolved_stacks *stacks, const struct resolved_stack *stack,
			   const struct resolved_frame *leaf);

/* What is known about a frame; NULL: nothing, or the frame is not of that sort. */
const char *resolved_label(const struct resolved_stacks *stacks,
			   const struct resolved_frame *frame);
const struct frame *resolved_stored(const struct resolved_stacks *stacks,
				    const struct resolved_frame *frame);
const struct frame_function *resolved_function(const struct resolved_stacks *stacks,
					       const struct resolved_frame *frame);
const struct store_executable *resolved_executable(const struct resolved_stacks *stacks,
						   const struct resolved_frame *frame);
const struct store_code_object *resolved_code_object(const struct resolved_stacks *stacks,
						     const struct resolved_frame *frame);
