/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Writes the rows of an unwind table, by rising address: merges equal neighbours, splits at
 * pages, gives every page a first row. Addresses are relative to a base that is a multiple of a
 * page.
 */

#include "agent/unwind/unwind_rule.h"
#include "agent/unwind/unwind_table.h"

VEC_DEFINE(unwind_row_vec, struct abi_unwind_row);
VEC_DEFINE(unwind_page_vec, uint32_t);

/* All zero: nothing is put yet. */
struct unwind_packer {
	struct unwind_row_vec rows;
	struct unwind_page_vec page_first;
	uint32_t first_page;
	uint16_t rule; /* of the last row; none before the first */
};

void unwind_packer_release(struct unwind_packer *packer);

/* @rule holds from @address on, which is above all before it. 0 or -ENOMEM. */
int unwind_packer_put(struct unwind_packer *packer, uint32_t address, uint16_t rule);

/* Nothing holds from @address on. */
int unwind_packer_end(struct unwind_packer *packer, uint32_t address);

/* Hands the rows and @rules over to the table; both are empty then. 0 or -ENOMEM. */
int unwind_packer_finish(struct unwind_packer *packer, uint64_t base_address,
			 struct unwind_rule_vec *rules, struct unwind_table *ret_table);
