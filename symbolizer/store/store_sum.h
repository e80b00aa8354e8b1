/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Sums of values by group and stack: the query and the result of store_sum(). */

#include <stdlib.h>

#include "common/memory_budget.h"

/* How several rows with the same group and stack become one value. */
enum store_sum_policy {
	STORE_SUM_ADD,  /* their values are added */
	STORE_SUM_LAST, /* the rows of the newest slot are added, older rows do not count */
};

/* A series of a sum. */
struct store_sum_series {
	uint64_t id;
	uint64_t factor; /* its values are multiplied by it: a period, or 1 */
	uint32_t group;  /* the caller's number */
	bool marked;     /* its values are also added to store_sums.marked_value */
};

/* Most items of a sum, 32 bytes each. A day of a busy fleet has several hundred thousand. */
#define STORE_SUM_MAX_ITEMS (8u << 20)

/* Most steps of a sum. Engines hold 16 bytes for each while they read a part of the samples. */
#define STORE_MAX_STEPS 100000

struct store_sum_query {
	const struct store_sum_series *series; /* [n_series] ascending by ID */
	size_t n_series;
	uint64_t from_slot, to_slot; /* rows with from_slot <= slot < to_slot */
	enum store_sum_policy policy;
	bool without_stacks; /* one item a group, with stack 0 */
	bool last_slots;     /* fill last_slot with STORE_SUM_ADD too */
	/*
	 * Not 0: one item for each group and step of this length from from_slot on, with the
	 * number of the step in the place of the stack. Only with STORE_SUM_ADD and without_stacks,
	 * without last_slots, and for at most STORE_MAX_STEPS steps. The range is not widened: the
	 * sum of an hour without samples is divided among its steps by their length.
	 */
	uint64_t step_slots;
	size_t max_items; /* 0: STORE_SUM_MAX_ITEMS */
};

/* The number of steps that begin in the range; 0: the query has no steps. */
static inline uint64_t store_sum_steps(const struct store_sum_query *query)
{
	return query->step_slots ? (query->to_slot - query->from_slot + query->step_slots - 1) /
					   query->step_slots
				 : 0;
}

/* The stack ID of values of stacks that have no item, because there are too many. */
#define STORE_OTHER_STACKS UINT64_MAX

struct store_sum {
	uint64_t stack;     /* with steps: the number of the step */
	uint64_t value;     /* UINT64_MAX also for larger values */
	uint64_t last_slot; /* the newest slot of the rows; 0 if it was not asked for */
	uint32_t group;
};

struct store_sums {
	struct store_sum *items; /* [count] in any order; store_sums_release() frees them */
	size_t count;
	uint64_t n_rows; /* that were added; 0: the engine does not count rows */
	uint64_t marked_value;
	uint64_t n_damaged_blocks; /* of the series' hosts, which were skipped */
	/*
	 * The range of the sums, if it is wider than that of the query, because only sums of hours
	 * are left of it; both 0: it may be equal.
	 */
	uint64_t from_slot, to_slot;
	struct memory_budget *memory;
	uint64_t taken_bytes; /* of the budget */
};

static inline void store_sums_release(struct store_sums *sums)
{
	free(sums->items);
	memory_budget_give(sums->memory, sums->taken_bytes);
	*sums = (struct store_sums){};
}
