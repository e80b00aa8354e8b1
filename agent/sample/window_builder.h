/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Decides which definitions a batch must include: window_builder.c for the rows of a window that is
 * closed, window_supplement.c for numbers that the server does not know. Functions return 0 or a
 * negative errno.
 */

#include "agent/sample/collector_internal.h"

VEC_DEFINE(executable_vec, struct executable *);
VEC_DEFINE(code_object_vec, const struct code_object *);

struct window_builder {
	struct collector *collector;
	struct window *window;
	struct arena *arena;
	struct hash_table *executables; /* uint32_t number: included, or known to the server */
	/* in a supplement: uint32_t number of the processes that it includes; else NULL */
	struct hash_table *processes;
	struct executable_vec included;
	struct hash_table *code_objects; /* uint32_t number: included, or known to the server */
	struct code_object_vec included_code;
};

int window_builder_init(struct window_builder *builder, struct collector *collector,
			struct window *window);
void window_builder_release(struct window_builder *builder);

/* Nothing is added that the window has, or the server knows. */
int window_builder_add_executable(struct window_builder *builder, uint32_t number);
int window_builder_add_code_object(struct window_builder *builder, uint32_t number);

/* Adds the stack to @stacks, at window->n_stacks, and the objects of its frames. */
int window_builder_add_stack(struct window_builder *builder, const struct open_stack *stack,
			     struct window_stack *stacks);

/* Fills *ret_process, and adds the executables that it refers to. */
int window_builder_process(struct window_builder *builder, const struct process *process,
			   struct window_process *ret_process);

/* Adds the series of window @window_number; 0, in a supplement: those of its processes. */
int window_builder_series(struct window_builder *builder, uint64_t window_number);

/* Adds what window_builder_add_executable() and window_builder_add_code_object() have collected. */
int window_builder_finish(struct window_builder *builder);
