/* SPDX-License-Identifier: Apache-2.0 */
#include "common/memory_budget.h"

bool memory_budget_take(struct memory_budget *budget, uint64_t bytes)
{
	uint64_t used;

	if (!budget)
		return true;
	used = atomic_load(&budget->used_bytes);
	do {
		assert(used <= budget->limit_bytes);
		if (bytes > budget->limit_bytes - used) {
			atomic_fetch_add(&budget->n_refused, 1);
			return false;
		}
	} while (!atomic_compare_exchange_weak(&budget->used_bytes, &used, used + bytes));
	return true;
}

void memory_budget_give(struct memory_budget *budget, uint64_t bytes)
{
	uint64_t used;

	if (!budget)
		return;
	used = atomic_fetch_sub(&budget->used_bytes, bytes);
	assert(used >= bytes);
}
