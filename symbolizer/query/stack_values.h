/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The sum of a selection: (group, stack) -> value. A group is a process seen as one second level of
 * the tree; stacks are the store's ids. Saturates instead of wrapping.
 */

#include "symbolizer/store/store.h"

/* 48 bytes each. A day of a busy fleet has some hundred thousand. */
#define STACK_VALUES_MAX (8u << 20)

struct stack_value {
	uint64_t stack;
	uint64_t value;
	uint64_t last_slot; /* of the rows added */
	uint32_t group;
};

struct stack_values;

int stack_values_new(struct stack_values **ret_values);
struct stack_values *stack_values_free(struct stack_values *values);

/* Adds @value. 0, -ENOMEM, -ENOSPC beyond STACK_VALUES_MAX. */
int stack_values_add(struct stack_values *values, uint32_t group, uint64_t stack, uint64_t slot,
		     uint64_t value);

/* Replaces what an earlier slot left; adds to what the same slot left. For values that are states,
 * not sums. */
int stack_values_replace(struct stack_values *values, uint32_t group, uint64_t stack, uint64_t slot,
			 uint64_t value);

/* In order of their first row; may be reordered and cut by the caller. */
struct stack_value *stack_values_items(struct stack_values *values, size_t *ret_count);

DEFINE_SCOPED(struct stack_values *, stack_values_free);
