/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A block: the rows that one batch brought for one day, columnar and compressed. Pure functions of
 * bytes.
 *
 * Before compression (all numbers are varints):
 *
 *   format (1)
 *   n_stacks, then the ids of the stacks used, ascending, as differences
 *   n_runs, then per run (rows of one series): difference of the series id, number of rows
 *   size of the slot column in bytes, size of the stack column, 0 or the size of the value column
 * (0: all values are 1) slot column: per run the first slot - min_slot, then differences within the
 * run stack column: per row the index among the stacks used value column: per row
 */

#include "common/bytes.h"
#include "common/vec.h"
#include "symbolizer/store/store.h"

struct block_row {
	uint32_t series; /* store id, ascending over the rows */
	uint32_t stack_index;
	uint64_t slot; /* ascending within rows of one run; a series may have several runs */
	uint64_t value;
};

struct block_rows {
	const struct block_row *rows; /* n_rows */
	size_t n_rows;
	const uint64_t *stacks; /* n_stacks store ids, ascending */
	size_t n_stacks;
	uint64_t min_slot;
};

/* What calls reuse: memory, and zstd's contexts, which cost more to make than a small block to
 * unpack. Zeroed before the first call; one per thread. */
struct block_scratch {
	struct ZSTD_CCtx_s *compressor;
	struct ZSTD_DCtx_s *decompressor;
	struct bytes plain;
	struct bytes columns;
	VEC_DEFINE(, uint64_t) stack_ids;
};

void block_scratch_release(struct block_scratch *scratch);

/* Appends the compressed block to @out. */
int block_encode(const struct block_rows *rows, struct block_scratch *scratch, struct bytes *out);

/* Which rows of a block are asked for, and who takes them. */
struct block_scan {
	const uint32_t *series_ids; /* ascending */
	size_t n_series;
	uint64_t from_slot;
	uint64_t to_slot;
	store_row_function function;
	void *arg;
};

/*
 * Hands the rows of the block @content that @scan asks for to its function. -EBADMSG: the block is
 * damaged. What the function returns below 0 ends the walk and comes back in *ret_stopped (then the
 * result is 0).
 */
int block_scan_rows(struct bytes_view content, uint64_t min_slot, uint64_t n_rows,
		    const struct block_scan *scan, struct block_scratch *scratch, int *ret_stopped);
