/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Puts FDEs together to an unwind table: collects their rows (8 bytes each), sorts, decides
 * overlaps, fills gaps, merges equal neighbours, packs into pages. Pure: it knows bytes and
 * addresses, no files.
 *
 * Where FDEs overlap the one that was added first wins. An FDE outside the executable segments (a
 * function that the linker threw away, garbage) is not added.
 */

#include "agent/unwind/eh_frame.h"
#include "agent/unwind/unwind_rule.h"
#include "agent/unwind/unwind_table.h"

/* Executable segments beyond this distance from the first one are left out. Code reaches 2 GiB. */
#define UNWIND_MAX_SPAN_BYTES (UINT64_C(4) << 30)

struct unwind_builder;

/* The executable ones of @segments (at most 64; later ones are left out) are where rows may be. */
int unwind_builder_new(const struct unwind_dialect *dialect, const struct load_segment *segments,
		       size_t n_segments, struct unwind_builder **ret_builder);
struct unwind_builder *unwind_builder_free(struct unwind_builder *builder);

/*
 * An eh_frame_fde_function, @argument is the builder: runs the FDE's program. -EBADMSG (the FDE is
 * lost, without a trace), -ENOMEM, -E2BIG (more than UNWIND_MAX_ROWS).
 */
int unwind_builder_add_fde(void *argument, const struct eh_frame_fde *fde);

/* A rule that holds from an address on. */
struct unwind_builder_row {
	uint64_t start;
	struct abi_unwind_rule rule;
};

/*
 * What is known of [start, end) from elsewhere: @n_rows, at least one, by rising address, the first
 * at @start. 0 (also where no code is), -ENOMEM, -E2BIG.
 */
int unwind_builder_add_rows(struct unwind_builder *builder, const struct unwind_builder_row *rows,
			    size_t n_rows, uint64_t end);

/*
 * Whether what was added before the last call of unwind_builder_sort() says something of an
 * address.
 */
void unwind_builder_sort(struct unwind_builder *builder);
bool unwind_builder_covers(const struct unwind_builder *builder, uint64_t address);

/* The ranges of what was added before, by rising start. False behind the last one. */
bool unwind_builder_range(const struct unwind_builder *builder, size_t index, uint64_t *ret_start,
			  uint64_t *ret_end);

/*
 * A whole section that lies in memory. 0 or what unwind_builder_add_fde() says, -EBADMSG
 * excepted.
 */
int unwind_builder_add_section(struct unwind_builder *builder,
			       const struct eh_frame_section *section, struct bytes_view content);

/* Counts FDEs that a parser met and lost, for the statistics. */
void unwind_builder_count_fdes(struct unwind_builder *builder,
			       const struct eh_frame_parser *parser);

/*
 * What was added has a CFA that can only be found if the kept register is followed, and it is
 * not.
 */
bool unwind_builder_needs_kept(const struct unwind_builder *builder);

/* The table of what was added; the builder can only be freed after it. 0 or -ENOMEM. */
int unwind_builder_finish(struct unwind_builder *builder, struct unwind_table *ret_table,
			  struct unwind_table_stats *ret_stats);

DEFINE_SCOPED(struct unwind_builder *, unwind_builder_free);
