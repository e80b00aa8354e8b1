/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Builds an unwind table from FDEs and other rows: collects rows (8 bytes each), sorts, resolves
 * overlaps, fills gaps, merges equal neighbours, packs into pages. Opens no files.
 *
 * Where FDEs overlap, the one that was added first wins. An FDE outside the executable segments is
 * ignored: the linker removed its function, or it is malformed.
 */

#include "agent/unwind/cfi/eh_frame.h"
#include "agent/unwind/table/unwind_rule.h"
#include "agent/unwind/table/unwind_table.h"

/*
 * Code farther from the first executable segment is ignored. Code models of compilers reach 2 GiB.
 */
#define UNWIND_MAX_SPAN_BYTES (UINT64_C(4) << 30)

struct unwind_builder;

/* Rows may be in the executable ones of @segments. Beyond 64 of them, segments are ignored. */
int unwind_builder_new(const struct unwind_dialect *dialect, const struct load_segment *segments,
		       size_t n_segments, struct unwind_builder **ret_builder);
struct unwind_builder *unwind_builder_free(struct unwind_builder *builder);

/*
 * An eh_frame_fde_function, whose @argument is the builder: runs the program of the FDE. -EBADMSG:
 * the FDE is lost and leaves no rows; -ENOMEM; -E2BIG: more than UNWIND_MAX_ROWS.
 */
int unwind_builder_add_fde(void *argument, const struct eh_frame_fde *fde);

/* A rule that is valid from an address on. */
struct unwind_builder_row {
	uint64_t start;
	struct abi_unwind_rule rule;
};

/*
 * Adds rows for [rows[0].start, end) that do not come from an FDE: @n_rows, at least one, by rising
 * address. 0, also if the range is not in executable segments; -ENOMEM, -E2BIG.
 */
int unwind_builder_add_rows(struct unwind_builder *builder, const struct unwind_builder_row *rows,
			    size_t n_rows, uint64_t end);

/*
 * unwind_builder_covers(): whether an address is in a range that was added before the last call of
 * unwind_builder_sort().
 */
void unwind_builder_sort(struct unwind_builder *builder);
bool unwind_builder_covers(const struct unwind_builder *builder, uint64_t address);

/*
 * The ranges that were added before the last call of unwind_builder_sort(), by rising start. False:
 * there are no more.
 */
bool unwind_builder_range(const struct unwind_builder *builder, size_t index, uint64_t *ret_start,
			  uint64_t *ret_end);

/*
 * Adds a whole section in memory. 0, or an error of unwind_builder_add_fde() other than -EBADMSG.
 */
int unwind_builder_add_section(struct unwind_builder *builder,
			       const struct eh_frame_section *section, struct bytes_view content);

/* Adds the parser's numbers of FDEs to the statistics. */
void unwind_builder_count_fdes(struct unwind_builder *builder,
			       const struct eh_frame_parser *parser);

/* Whether a CFA that was added needs the kept register, and the dialect does not follow it. */
bool unwind_builder_needs_kept(const struct unwind_builder *builder);

/*
 * Makes the table of everything that was added. Afterwards the builder can only be freed. 0 or
 * -ENOMEM.
 */
int unwind_builder_finish(struct unwind_builder *builder, struct unwind_table *ret_table,
			  struct unwind_table_stats *ret_stats);

DEFINE_SCOPED(struct unwind_builder *, unwind_builder_free);
