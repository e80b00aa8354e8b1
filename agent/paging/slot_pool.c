/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/paging/slot_pool.h"

#include <assert.h>
#include <stdlib.h>

#define RULE_PARTS (UNWIND_RULE_SLOTS / UNWIND_SLOTS_PER_PART)

int slot_pool_init(struct slot_pool *pool, const struct paging_backend *backend, uint32_t max_parts)
{
	*pool = (struct slot_pool){
		.backend = backend,
		.max_parts = RULE_PARTS + max_parts,
		.end_slot = UNWIND_RULE_SLOTS,
	};
	pool->ceiling = pool->max_parts;
	pool->parts = calloc(pool->max_parts, sizeof(*pool->parts));
	return pool->parts ? 0 : -ENOMEM;
}

void slot_pool_release(struct slot_pool *pool)
{
	free(pool->parts);
	vec_release(&pool->free);
	*pool = (struct slot_pool){};
}

struct abi_unwind_slot *slot_pool_at(const struct slot_pool *pool, uint32_t slot)
{
	struct abi_unwind_slot *part = pool->parts[slot >> UNWIND_PART_SHIFT];

	assert(part);
	return &part[slot & (UNWIND_SLOTS_PER_PART - 1)];
}

int slot_pool_add_part(struct slot_pool *pool, uint32_t part)
{
	int r;

	assert(part < pool->max_parts);
	if (pool->parts[part])
		return 0;
	r = pool->backend->add_part(pool->backend->arg, part, &pool->parts[part]);
	if (r < 0)
		return r;
	pool->n_parts++;
	return 0;
}

int slot_pool_grow(struct slot_pool *pool)
{
	uint32_t part = pool->end_slot >> UNWIND_PART_SHIFT;
	int r;

	if (part >= pool->ceiling)
		return 0;
	r = vec_reserve(&pool->free, UNWIND_SLOTS_PER_PART);
	if (r < 0)
		return r;
	r = slot_pool_add_part(pool, part);
	if (r < 0)
		return r;
	/* The lowest slot is taken first. */
	for (uint32_t i = UNWIND_SLOTS_PER_PART; i-- > 0;)
		pool->free.items[pool->free.count++] = pool->end_slot + i;
	pool->end_slot += UNWIND_SLOTS_PER_PART;
	/* Reserve now, so that giving back needs no memory. */
	return vec_reserve(&pool->free, pool->end_slot - UNWIND_RULE_SLOTS) < 0 ? -ENOMEM : 1;
}

uint32_t slot_pool_limit(struct slot_pool *pool, uint32_t n_parts)
{
	assert(n_parts > 0);
	pool->ceiling = RULE_PARTS + MIN(n_parts, pool->max_parts - RULE_PARTS);
	return pool->ceiling << UNWIND_PART_SHIFT;
}

void slot_pool_trim(struct slot_pool *pool)
{
	uint32_t end = pool->ceiling << UNWIND_PART_SHIFT;
	size_t kept = 0;

	if (pool->end_slot <= end)
		return;
	for (size_t i = 0; i < pool->free.count; i++)
		if (pool->free.items[i] < end)
			pool->free.items[kept++] = pool->free.items[i];
	assert(pool->free.count - kept == pool->end_slot - end);
	pool->free.count = kept;
	for (uint32_t part = pool->ceiling; part < pool->end_slot >> UNWIND_PART_SHIFT; part++) {
		struct abi_unwind_slot *slots = pool->parts[part];

		pool->parts[part] = NULL;
		pool->n_parts--;
		pool->backend->remove_part(pool->backend->arg, part, slots);
	}
	pool->end_slot = end;
}

uint32_t slot_pool_take(struct slot_pool *pool)
{
	return pool->free.count > 0 ? pool->free.items[--pool->free.count] : 0;
}

void slot_pool_give_back(struct slot_pool *pool, uint32_t slot)
{
	assert(pool->free.count < pool->free.capacity);
	pool->free.items[pool->free.count++] = slot;
}
