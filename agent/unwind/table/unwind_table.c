/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/unwind/table/unwind_table.h"

#include <stdlib.h>

void unwind_table_release(struct unwind_table *table)
{
	free(table->page_first);
	free(table->rows);
	free(table->rules);
	*table = (struct unwind_table){};
}

/* The last row at or before the address in its page. The first row of a page begins at 0. */
static const struct abi_unwind_row *find_row(const struct unwind_table *table, uint64_t page,
					     uint16_t offset)
{
	uint32_t low = table->page_first[page];
	uint32_t high = table->page_first[page + 1];

	assert(low < high);
	while (high - low > 1) {
		uint32_t middle = low + (high - low) / 2;

		if (table->rows[middle].offset <= offset)
			low = middle;
		else
			high = middle;
	}
	return &table->rows[low];
}

const struct abi_unwind_rule *unwind_table_find(const struct unwind_table *table, uint64_t elf_addr)
{
	static const struct abi_unwind_rule none = { .cfa = UNWIND_CFA_NONE };
	uint64_t page = (elf_addr - table->base_address) >> UNWIND_PAGE_SHIFT;

	if (elf_addr < table->base_address || page >= table->n_pages)
		return &none;
	return &table->rules[find_row(table, page, (uint16_t)(elf_addr & UNWIND_PAGE_MASK))->rule];
}
