/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) OR Apache-2.0 */
#pragma once

/*
 * From an ELF address to the unwind rule that holds there: executable -> page of 64 KiB -> row -> rule. Every step is
 * one array access; the search within a page takes at most 16.
 */

#include "bpf/include/sample.bpf.h"

enum rule_found {
	RULE_FOUND,
	RULE_NO_TABLE, /* the agent has not compiled it (yet) */
	RULE_NONE,     /* outside the table */
};

static __always_inline bool load_table(struct sample *sample, __u32 executable)
{
	struct abi_unwind_info *info;

	if (sample->table_executable == executable)
		return true;
	info = bpf_map_lookup_elem(&unwind_tables, &executable);
	if (!info)
		return false;
	sample->table = *info;
	sample->table_executable = executable;
	return true;
}

static __always_inline bool page_first_row(__u32 index, __u32 *ret_row)
{
	__u32 chunk_index = index / UNWIND_PAGES_PER_CHUNK;
	struct abi_unwind_page_chunk *chunk = bpf_map_lookup_elem(&unwind_pages, &chunk_index);

	if (!chunk)
		return false;
	*ret_row = chunk->first_row[index % UNWIND_PAGES_PER_CHUNK];
	return true;
}

static __always_inline bool row_at(__u32 index, struct abi_unwind_row *ret_row)
{
	__u32 chunk_index = index / UNWIND_ROWS_PER_CHUNK;
	struct abi_unwind_row_chunk *chunk = bpf_map_lookup_elem(&unwind_rows, &chunk_index);

	if (!chunk)
		return false;
	*ret_row = chunk->rows[index % UNWIND_ROWS_PER_CHUNK];
	return true;
}

/* Copies the rule into *ret_rule. */
static __always_inline enum rule_found find_rule(struct sample *sample, __u32 executable, __u64 elf_addr,
						 struct abi_unwind_rule *ret_rule)
{
	const struct abi_unwind_info *table = &sample->table;
	struct abi_unwind_rule_chunk *chunk;
	struct abi_unwind_row row = {};
	__u32 low, high, chunk_index;
	__u64 page;

	if (!load_table(sample, executable))
		return RULE_NO_TABLE;
	page = (elf_addr - table->base_address) >> UNWIND_PAGE_SHIFT;
	if (elf_addr < table->base_address || page >= table->n_pages)
		return RULE_NONE;
	if (!page_first_row(table->first_page + (__u32)page, &low) ||
	    !page_first_row(table->first_page + (__u32)page + 1, &high))
		return RULE_NONE;

	/* The last row at or before the address; the first of a page always is. */
#pragma unroll
	for (int step = 0; step < 17; step++) {
		__u32 middle = (low + high) / 2;

		if (high - low <= 1 || high < low)
			break;
		if (!row_at(table->first_row + middle, &row))
			return RULE_NONE;
		if (row.address_low <= (__u16)elf_addr)
			low = middle;
		else
			high = middle;
	}
	if (!row_at(table->first_row + low, &row) || row.rule >= table->n_rules)
		return RULE_NONE;
	chunk_index = (table->first_rule + row.rule) / UNWIND_RULES_PER_CHUNK;
	chunk = bpf_map_lookup_elem(&unwind_rules, &chunk_index);
	if (!chunk)
		return RULE_NONE;
	*ret_rule = chunk->rules[(table->first_rule + row.rule) % UNWIND_RULES_PER_CHUNK];
	return RULE_FOUND;
}
