/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A limit on the memory that several users hold together, such as all queries of a server. A user
 * takes bytes before it allocates them, and gives them back after it has freed them. Thread-safe.
 *
 * Functions accept NULL for a budget without a limit.
 */

#include <stdatomic.h>

#include "common/base.h"

struct memory_budget {
	uint64_t limit_bytes; /* constant */
	_Atomic uint64_t used_bytes;
	_Atomic uint64_t n_refused; /* calls of memory_budget_take() that returned false */
};

/* Returns false, and takes nothing, if less than @bytes are left. */
bool memory_budget_take(struct memory_budget *budget, uint64_t bytes) must_check;
void memory_budget_give(struct memory_budget *budget, uint64_t bytes);

static inline uint64_t memory_budget_refused(const struct memory_budget *budget)
{
	return budget ? atomic_load(&budget->n_refused) : 0;
}
