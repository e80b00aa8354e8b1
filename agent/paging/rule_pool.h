/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The unwind rules of all resident chunks, each once: rule r lies in slot r / 256 of the pool. A
 * rule stays while a row of a resident chunk refers to it; its number is then given to another one.
 * So nobody can keep more of the 65536 numbers than the chunks hold that stacks of his programs
 * use. Where no number is left UNWIND_RULE_UNSUPPORTED stands in: the frame is left by its frame
 * pointer, and counted.
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
	struct rule_reference_vec references; /* of each number that was ever given */
	struct rule_number_vec free;
	uint64_t n_refused; /* rows whose rule got no number */
};

/* @slots is borrowed; @max_rules is UNWIND_POOL_RULES but in tests. 0 or negative errno. */
int rule_pool_init(struct rule_pool *pool, struct slot_pool *slots, uint32_t max_rules);
void rule_pool_release(struct rule_pool *pool);

/* The number of @rule, with @n_rows more references. */
uint16_t rule_pool_take(struct rule_pool *pool, const struct abi_unwind_rule *rule,
			uint32_t n_rows);

/*
 * The chunk whose row has @number is not resident any more, which readers see before they see
 * another rule there.
 */
void rule_pool_drop(struct rule_pool *pool, uint16_t number);

size_t rule_pool_count(const struct rule_pool *pool);
