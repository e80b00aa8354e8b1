/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) OR Apache-2.0 */
#pragma once

/*
 * From an ELF address to the unwind rule that holds there: executable -> page -> row -> rule. Each arrow is one array
 * access, which the kernel makes without a call; the search within a page stays in a few cache lines.
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

/* The rows of a page, as indices into the array of all rows. */
static __always_inline bool rows_of_page(const struct abi_unwind_info *table, __u32 page, __u32 *ret_low,
					 __u32 *ret_high)
{
	__u32 index = table->first_page + page;
	__u32 chunk_index = index / UNWIND_PAGES_PER_CHUNK;
	struct abi_unwind_page_chunk *chunk = bpf_map_lookup_elem(&unwind_pages, &chunk_index);

	if (!chunk)
		return false;
	*ret_low = table->first_row + chunk->first_row[index % UNWIND_PAGES_PER_CHUNK];
	index++;
	if (index % UNWIND_PAGES_PER_CHUNK == 0) {
		chunk_index++;
		chunk = bpf_map_lookup_elem(&unwind_pages, &chunk_index);
		if (!chunk)
			return false;
	}
	*ret_high = table->first_row + chunk->first_row[index % UNWIND_PAGES_PER_CHUNK];
	return true;
}

/*
 * Narrows [low, high), which reaches over more than one chunk, to the part that lies in one: a page of 4 KiB has a
 * hundred rows or two, so that two chunks are all there is to it, but hand-made tables may have a row for each byte.
 */
static __always_inline bool narrow_to_chunk(__u16 offset, __u32 *low, __u32 *high)
{
#pragma unroll
	for (int step = 0; step < 4; step++) {
		__u32 chunk_index = (*high - 1) / UNWIND_ROWS_PER_CHUNK;
		struct abi_unwind_row_chunk *chunk;

		if (*low / UNWIND_ROWS_PER_CHUNK == chunk_index)
			return true;
		chunk = bpf_map_lookup_elem(&unwind_rows, &chunk_index);
		if (!chunk)
			return false;
		if (chunk->rows[0].offset <= offset)
			*low = chunk_index * UNWIND_ROWS_PER_CHUNK;
		else
			*high = chunk_index * UNWIND_ROWS_PER_CHUNK;
	}
	return *low / UNWIND_ROWS_PER_CHUNK == (*high - 1) / UNWIND_ROWS_PER_CHUNK;
}

/* The number of the rule in the last row of [low, high) at or before the address; the first row always is. */
static __always_inline bool find_row(__u16 offset, __u32 low, __u32 high, __u32 *ret_rule)
{
	struct abi_unwind_row_chunk *chunk;
	__u32 chunk_index, count;

	if (low >= high || !narrow_to_chunk(offset, &low, &high))
		return false;
	chunk_index = low / UNWIND_ROWS_PER_CHUNK;
	chunk = bpf_map_lookup_elem(&unwind_rows, &chunk_index);
	if (!chunk)
		return false;
	count = high - low;
#pragma unroll
	for (int step = 0; step < 10; step++) {
		__u32 half = count / 2;
		__s64 beyond;

		if (count <= 1)
			break;
		beyond = (__s64)offset - chunk->rows[(low + half) % UNWIND_ROWS_PER_CHUNK].offset;
		/* Without a branch: which way it goes cannot be predicted. */
		low += half & ~(__u32)(beyond >> 63);
		count -= half;
	}
	*ret_rule = chunk->rows[low % UNWIND_ROWS_PER_CHUNK].rule;
	return true;
}

/* *ret_rule points into the map: extents of tables outlive the programs that found them. */
static __always_inline enum rule_found find_rule(struct sample *sample, __u32 executable, __u64 elf_addr,
						 const struct abi_unwind_rule **ret_rule)
{
	const struct abi_unwind_info *table = &sample->table;
	struct abi_unwind_rule_chunk *chunk;
	__u32 low, high, chunk_index, rule;
	__u64 page;

	if (!load_table(sample, executable))
		return RULE_NO_TABLE;
	page = (elf_addr - table->base_address) >> UNWIND_PAGE_SHIFT;
	if (elf_addr < table->base_address || page >= table->n_pages)
		return RULE_NONE;
	if (!rows_of_page(table, (__u32)page, &low, &high) ||
	    !find_row((__u16)(elf_addr & UNWIND_PAGE_MASK), low, high, &rule) || rule >= table->n_rules)
		return RULE_NONE;
	rule += table->first_rule;
	chunk_index = rule / UNWIND_RULES_PER_CHUNK;
	chunk = bpf_map_lookup_elem(&unwind_rules, &chunk_index);
	if (!chunk)
		return RULE_NONE;
	*ret_rule = &chunk->rules[rule % UNWIND_RULES_PER_CHUNK];
	return RULE_FOUND;
}
