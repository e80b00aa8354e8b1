/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The unwind table of one executable, compiled from its call frame information: sorted, merged,
 * packed.
 *
 *   rows[n_rows]        by rising address; rows of page p are rows[page_first[p] .. page_first[p +
 * 1]) page_first[n_pages + 1] rules[n_rules]      rule 0 is always {UNWIND_CFA_NONE}
 *
 * page 0 begins at base_address (a multiple of 4 KiB). Every page begins with a row (the rule
 * that holds where the page before ends), so that a lookup never needs the page before.
 */

#include "bpf/abi/unwind_table.h"
#include "common/elf/elf_file.h"

/* Above it a file is not worth its memory: libLLVM has 0.5 million rows, ClickHouse 2.8 million. */
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

/* What went into a table, and what did not. */
struct unwind_table_stats {
	uint32_t n_fdes;
	uint32_t n_fdes_lost; /* FDEs that could not be read: each is lost alone, never the file */
	uint32_t n_fdes_outside;     /* FDEs of no executable segment: left out */
	uint32_t n_rows_unsupported; /* rows whose rule cannot be expressed */
	uint32_t n_rows_before_merge;
};

/*
 * Compiles .eh_frame (by .eh_frame_hdr's PT_GNU_EH_FRAME or the section), and Go's .gopclntab or
 * else .debug_frame of @elf; where several cover an address the first of them wins. Code of x86-64
 * that none covers is read instead (agent/unwind/gap_frames.h, musl_frames.h). Reads by pread in
 * pieces; memory is bounded by the rows. 1 done; 0: the file has no call frame information (the
 * table is empty); -ENODATA, -EBADMSG, -ENOMEM, -E2BIG (more than UNWIND_MAX_ROWS).
 */
int unwind_table_compile(const struct elf_file *elf, struct unwind_table *ret_table,
			 struct unwind_table_stats *ret_stats);
void unwind_table_release(struct unwind_table *table);

/*
 * The rule at an ELF address (for a return address: of the byte before it); rule 0 outside the
 * table.
 */
const struct abi_unwind_rule *unwind_table_find(const struct unwind_table *table,
						uint64_t elf_addr);
