/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A pool of slots in plain memory, and the regions that readers in the kernel would find.
 */

#include "agent/paging/slot_pool.h"
#include "common/hash_table.h"
#include "tests/support/unit.h"

#define PLAIN_MAX_PARTS 64

struct plain_pool {
	struct paging_backend backend;
	struct abi_unwind_slot *parts[PLAIN_MAX_PARTS];
	struct hash_table *regions; /* uint64_t key -> uint32_t directory */
	uint32_t n_parts;
	uint32_t parts_allowed; /* creating more fails */
};

static inline int plain_add_part(void *arg, uint32_t part, struct abi_unwind_slot **ret_slots)
{
	struct plain_pool *pool = arg;

	if (pool->n_parts == pool->parts_allowed)
		return -ENOMEM;
	pool->n_parts++;
	assert_null(pool->parts[part]);
	pool->parts[part] = calloc(UNWIND_SLOTS_PER_PART, sizeof(**ret_slots));
	assert_non_null(pool->parts[part]);
	*ret_slots = pool->parts[part];
	return 0;
}

static inline void plain_remove_part(void *arg, uint32_t part, struct abi_unwind_slot *slots)
{
	struct plain_pool *pool = arg;

	assert_non_null(slots);
	assert_ptr_equal(pool->parts[part], slots);
	free(slots);
	pool->parts[part] = NULL;
	pool->n_parts--;
}

static inline int plain_put_region(void *arg, uint64_t key, uint32_t directory)
{
	struct plain_pool *pool = arg;
	void *value;

	/* No region is put twice. */
	assert_int_equal(hash_table_insert(pool->regions, &key, &value), 1);
	*(uint32_t *)value = directory;
	return 0;
}

static inline void plain_remove_region(void *arg, uint64_t key)
{
	struct plain_pool *pool = arg;

	assert_true(hash_table_remove(pool->regions, &key));
}

static inline struct plain_pool *plain_pool_new(void)
{
	struct plain_pool *pool = calloc(1, sizeof(*pool));

	assert_non_null(pool);
	pool->backend = (struct paging_backend){ .arg = pool,
						 .add_part = plain_add_part,
						 .remove_part = plain_remove_part,
						 .put_region = plain_put_region,
						 .remove_region = plain_remove_region };
	pool->parts_allowed = PLAIN_MAX_PARTS;
	assert_ok(hash_table_new(sizeof(uint64_t), sizeof(uint32_t), 0, &pool->regions));
	return pool;
}

static inline void plain_pool_free(struct plain_pool *pool)
{
	for (size_t i = 0; i < PLAIN_MAX_PARTS; i++)
		free(pool->parts[i]);
	hash_table_free(pool->regions);
	free(pool);
}
