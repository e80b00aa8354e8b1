/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/paging/rule_pool.h"

#include <assert.h>

#define RULES_PER_PART (UNWIND_SLOTS_PER_PART * UNWIND_RULES_PER_SLOT)

static struct abi_unwind_rule *rule_at(const struct rule_pool *pool, uint32_t number)
{
	struct abi_unwind_slot *slot =
		slot_pool_at(pool->slots, number >> UNWIND_RULES_PER_SLOT_SHIFT);

	return &slot->rules[number & (UNWIND_RULES_PER_SLOT - 1)];
}

/* Finds an unused number. Returns 1, 0 if none is left, or a negative errno. */
static int new_number(struct rule_pool *pool, uint16_t *ret_number)
{
	size_t number = pool->references.count;
	int r;

	if (pool->free.count > 0) {
		*ret_number = pool->free.items[--pool->free.count];
		return 1;
	}
	if (number == pool->max_rules)
		return 0;
	r = slot_pool_add_part(pool->slots, (uint32_t)number / RULES_PER_PART);
	if (r < 0)
		return r;
	r = vec_push(&pool->references, 0);
	if (r < 0)
		return r;
	/* Reserve now, so that dropping a rule needs no memory. */
	r = vec_reserve(&pool->free, pool->references.count);
	if (r < 0)
		return r;
	*ret_number = (uint16_t)number;
	return 1;
}

/* Returns 1, 0 if no number is left, or a negative errno. */
static int add(struct rule_pool *pool, const struct abi_unwind_rule *rule, uint16_t *ret_number)
{
	uint16_t number;
	void *value;
	int r;

	r = new_number(pool, &number);
	if (r <= 0)
		return r;
	r = hash_table_insert(pool->numbers, rule, &value);
	if (r < 0) {
		pool->free.items[pool->free.count++] = number;
		return r;
	}
	*(uint16_t *)value = number;
	*rule_at(pool, number) = *rule;
	*ret_number = number;
	return 1;
}

int rule_pool_init(struct rule_pool *pool, struct slot_pool *slots, uint32_t max_rules)
{
	static const struct abi_unwind_rule always[] = {
		[UNWIND_RULE_NONE] = { .cfa = UNWIND_CFA_NONE },
		[UNWIND_RULE_UNSUPPORTED] = { .cfa = UNWIND_CFA_UNSUPPORTED },
	};
	int r;

	*pool = (struct rule_pool){ .slots = slots, .max_rules = max_rules };
	r = hash_table_new(sizeof(struct abi_unwind_rule), sizeof(uint16_t), 0, &pool->numbers);
	if (r < 0)
		return r;
	for (size_t i = 0; i < ARRAY_SIZE(always); i++) {
		uint16_t number;

		r = add(pool, &always[i], &number);
		if (r < 0)
			return r;
		if (r > 0)
			pool->references.items[number] = 1;
	}
	return 0;
}

void rule_pool_release(struct rule_pool *pool)
{
	pool->numbers = hash_table_free(pool->numbers);
	vec_release(&pool->references);
	vec_release(&pool->free);
}

uint16_t rule_pool_take(struct rule_pool *pool, const struct abi_unwind_rule *rule, uint32_t n_rows)
{
	const uint16_t *known = hash_table_find(pool->numbers, rule);
	uint16_t number = UNWIND_RULE_UNSUPPORTED;

	if (known)
		number = *known;
	else if (add(pool, rule, &number) <= 0)
		pool->n_refused += n_rows;
	pool->references.items[number] += n_rows;
	return number;
}

void rule_pool_drop(struct rule_pool *pool, uint16_t number)
{
	assert(number < pool->references.count && pool->references.items[number] > 0);
	if (--pool->references.items[number] > 0)
		return;
	(void)hash_table_remove(pool->numbers, rule_at(pool, number));
	pool->free.items[pool->free.count++] = number;
}

size_t rule_pool_count(const struct rule_pool *pool)
{
	return hash_table_count(pool->numbers);
}
