/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The unwind table of one executable: sorted rows without equal neighbours, packed into pages.
 *
 *   page_first[n_pages + 1]   rows of page p are rows[page_first[p] .. page_first[p + 1])
 *   rows[n_rows]              by rising address
 *   rules[n_rules]            rule 0 is always {UNWIND_CFA_NONE}
 *
 * Page 0 begins at base_address, a multiple of 4 KiB. Each page begins with a row, which repeats
 * the last rule of the previous page if nothing changes there. So a lookup needs one page only.
 */

#include "bpf/abi/unwind_table.h"
#include "common/elf/elf_file.h"

/* Maximum number of rows of a table. libLLVM has 0.5 million rows, ClickHouse 2.8 million. */
#define UNWIND_MAX_ROWS (64u << 20)

struct unwind_table {
	uint64_t base_address;
	uint32_t *page_first;
	uint32_t n_pages;
	struct abi_unwind_row *rows;
	uint32_t n_rows;
	struct abi_unwind_rule *rules;
	uint32_t n_rules;
};

/* Counts of what a table was compiled from. */
struct unwind_table_stats {
	uint32_t n_fdes;             /* FDEs, and ranges of rows that do not come from FDEs */
	uint32_t n_fdes_lost;        /* FDEs that could not be read; the others are used */
	uint32_t n_fdes_outside;     /* FDEs outside the executable segments, which are ignored */
	uint32_t n_rows_unsupported; /* rows with a rule that a table cannot express */
	uint32_t n_rows_before_merge;
};

void unwind_table_release(struct unwind_table *table);

/*
 * The rule at an ELF address; for a return address the caller passes the address minus 1. Rule
 * {UNWIND_CFA_NONE} outside the table.
 */
const struct abi_unwind_rule *unwind_table_find(const struct unwind_table *table,
						uint64_t elf_addr);
