/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Packs the rows of an unwind table, by rising address: merges equal neighbours, splits at pages,
 * and begins each page with a row. Addresses are relative to a base that is a multiple of a page.
 */

#include "agent/unwind/table/unwind_rule.h"
#include "agent/unwind/table/unwind_table.h"

VEC_DEFINE(unwind_row_vec, struct abi_unwind_row);
VEC_DEFINE(unwind_page_vec, uint32_t);

/* All zero: no row was added yet. */
struct unwind_packer {
	struct unwind_row_vec rows;
	struct unwind_page_vec page_first;
	uint32_t first_page;
	uint16_t rule; /* of the last row; not valid before the first row */
};

void unwind_packer_release(struct unwind_packer *packer);

/* @rule is valid from @address on, which is greater than all before. 0 or -ENOMEM. */
int unwind_packer_put(struct unwind_packer *packer, uint32_t address, uint16_t rule);

/* No rule is valid from @address on. */
int unwind_packer_end(struct unwind_packer *packer, uint32_t address);

/* Moves the rows and @rules to the table; both are empty then. 0 or -ENOMEM. */
int unwind_packer_finish(struct unwind_packer *packer, uint64_t base_address,
			 struct unwind_rule_vec *rules, struct unwind_table *ret_table);
