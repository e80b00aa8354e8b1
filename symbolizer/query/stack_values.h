/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The values of a selection, summed per (group, stack). Groups are indexes of struct series_groups,
 * stacks are IDs of the store. Sums saturate instead of wrapping.
 */

#include "symbolizer/store/store.h"

/* 48 bytes each. A day of a busy fleet has several hundred thousand. */
#define STACK_VALUES_MAX (8u << 20)

struct stack_value {
	uint64_t stack;
	uint64_t value;
	uint64_t last_slot; /* the newest slot of the added rows */
	uint32_t group;
};

struct stack_values;

int stack_values_new(struct stack_values **ret_values);
struct stack_values *stack_values_free(struct stack_values *values);

/* Adds @value. Returns 0, -ENOMEM, or -ENOSPC beyond STACK_VALUES_MAX. */
int stack_values_add(struct stack_values *values, uint32_t group, uint64_t stack, uint64_t slot,
		     uint64_t value);

/*
 * For event types with states instead of sums (is_state_type()): replaces the value of an earlier
 * slot, adds to the value of the same slot, and ignores @value if a later slot was added before.
 */
int stack_values_replace(struct stack_values *values, uint32_t group, uint64_t stack, uint64_t slot,
			 uint64_t value);

/* Returns the items in the order in which they were added first. The caller may reorder and change
 * them once it adds no more. */
struct stack_value *stack_values_items(struct stack_values *values, size_t *ret_count);

DEFINE_SCOPED(struct stack_values *, stack_values_free);
