/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The unwind rules of all resident chunks, each stored once: rule r is in slot r / 256 of the pool.
 * A rule is kept while a row of a resident chunk refers to it; then its number is reused. So a user
 * can occupy only as many of the 65536 numbers as the chunks hold that stacks of the user's
 * programs use. If no number is left, UNWIND_RULE_UNSUPPORTED is used instead: the frame is left by
 * its frame pointer, and counted.
 */

#include "agent/paging/slot_pool.h"
#include "agent/unwind/table/unwind_rule.h"
#include "common/hash_table.h"

VEC_DEFINE(rule_reference_vec, uint32_t);
VEC_DEFINE(rule_number_vec, uint16_t);

struct rule_pool {
	struct slot_pool *slots;
	uint32_t max_rules;
	struct hash_table *numbers;           /* struct abi_unwind_rule -> uint16_t */
	struct rule_reference_vec references; /* by number: rows that use it */
	struct rule_number_vec free;
	uint64_t n_refused; /* rows whose rule got no number */
};

/*
 * @slots is borrowed. @max_rules is UNWIND_POOL_RULES, or less in tests. Returns 0 or a negative
 * errno.
 */
int rule_pool_init(struct rule_pool *pool, struct slot_pool *slots, uint32_t max_rules);
void rule_pool_release(struct rule_pool *pool);

/* Returns the number of @rule and adds @n_rows references to it. */
uint16_t rule_pool_take(struct rule_pool *pool, const struct abi_unwind_rule *rule,
			uint32_t n_rows);

/*
 * Removes one reference: the chunk with the row is no longer resident. Readers see that before they
 * see another rule with this number.
 */
void rule_pool_drop(struct rule_pool *pool, uint16_t number);

size_t rule_pool_count(const struct rule_pool *pool);
