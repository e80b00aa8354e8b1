/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pages are opened in order, up to the one of the next row. The first row of a page repeats the
 * last rule of the previous page, unless a row begins at the start of the page.
 */
#include "agent/unwind/table/unwind_packer.h"

static int push_row(struct unwind_packer *packer, uint32_t address, uint16_t rule)
{
	return vec_push(&packer->rows,
			(struct abi_unwind_row){ .offset = (uint16_t)(address & UNWIND_PAGE_MASK),
						 .rule = rule });
}

static int open_page(struct unwind_packer *packer, bool has_row_at_start)
{
	int r = vec_push(&packer->page_first, (uint32_t)packer->rows.count);

	return r < 0 || has_row_at_start ? r : push_row(packer, 0, packer->rule);
}

/* Opens pages up to the one of @address. */
static int open_pages(struct unwind_packer *packer, uint32_t address, bool has_row_at_address)
{
	uint32_t page = address >> UNWIND_PAGE_SHIFT;
	bool is_page_start = (address & UNWIND_PAGE_MASK) == 0;
	int r = 0;

	if (packer->page_first.count == 0)
		packer->first_page = page;
	while (r == 0 && packer->first_page + packer->page_first.count <= page) {
		bool is_last = packer->first_page + packer->page_first.count == page;

		r = open_page(packer, is_last && is_page_start && has_row_at_address);
	}
	return r;
}

int unwind_packer_put(struct unwind_packer *packer, uint32_t address, uint16_t rule)
{
	int r;

	if (rule == packer->rule && packer->rows.count > 0)
		return 0;
	r = open_pages(packer, address, true);
	if (r < 0)
		return r;
	packer->rule = rule;
	return push_row(packer, address, rule);
}

int unwind_packer_end(struct unwind_packer *packer, uint32_t address)
{
	int r;

	if (packer->rows.count == 0)
		return 0;
	r = open_pages(packer, address - 1, false);
	if (r < 0)
		return r;
	/*
	 * No row is needed at the end of a page, because a lookup after the last page finds no
	 * rule.
	 */
	if ((address & UNWIND_PAGE_MASK) == 0)
		return 0;
	return unwind_packer_put(packer, address, UNWIND_RULE_NONE);
}

int unwind_packer_finish(struct unwind_packer *packer, uint64_t base_address,
			 struct unwind_rule_vec *rules, struct unwind_table *ret_table)
{
	size_t n_pages = packer->page_first.count;
	int r;

	r = vec_push(&packer->page_first, (uint32_t)packer->rows.count);
	if (r < 0)
		return r;
	*ret_table = (struct unwind_table){
		.base_address = base_address + ((uint64_t)packer->first_page << UNWIND_PAGE_SHIFT),
		.page_first = packer->page_first.items,
		.n_pages = (uint32_t)n_pages,
		.rows = packer->rows.items,
		.n_rows = (uint32_t)packer->rows.count,
		.rules = rules->items,
		.n_rules = (uint32_t)rules->count,
	};
	packer->page_first = (struct unwind_page_vec){};
	packer->rows = (struct unwind_row_vec){};
	*rules = (struct unwind_rule_vec){};
	return 0;
}

void unwind_packer_release(struct unwind_packer *packer)
{
	vec_release(&packer->rows);
	vec_release(&packer->page_first);
}
