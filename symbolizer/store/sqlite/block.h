/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A block: the rows of one batch for one day, in columns, compressed. Pure functions of bytes.
 *
 * Uncompressed, all numbers being varints:
 *
 *   format (1)
 *   n_stacks, then the IDs of the used stacks, ascending, as differences
 *   n_runs, then for each run (rows of one series): difference of the series ID, number of rows
 *   bytes of the slot column, bytes of the stack column, bytes of the value column (0: all
 *   values are 1)
 *   slot column: for each run the first slot - min_slot, then differences within the run
 *   stack column: for each row the index among the used stacks
 *   value column: for each row the value
 */

#include "common/bytes.h"
#include "common/vec.h"
#include "symbolizer/store/sum_table.h"

struct block_row {
	uint32_t series; /* store ID, ascending over the rows */
	uint32_t stack_index;
	uint64_t slot; /* ascending within a run; a series may have several runs */
	uint64_t value;
};

struct block_rows {
	const struct block_row *rows; /* [n_rows] */
	size_t n_rows;
	const uint64_t *stacks; /* [n_stacks] store IDs, ascending */
	size_t n_stacks;
	uint64_t min_slot;
};

/*
 * Memory and zstd contexts that calls reuse: creating a context costs more than unpacking a small
 * block. Zeroed before the first call; one per thread.
 */
struct block_scratch {
	struct ZSTD_CCtx_s *compressor;
	struct ZSTD_DCtx_s *decompressor;
	struct bytes plain;
	struct bytes columns;
	VEC_DEFINE(, uint64_t) stack_ids;
	VEC_DEFINE(, uint64_t) cells; /* of block_sum_rows() */
};

void block_scratch_release(struct block_scratch *scratch);

/* Appends the compressed block to @out. */
int block_encode(const struct block_rows *rows, struct block_scratch *scratch, struct bytes *out);

/* The rows of a block that are selected, and the function that is called for each of them. */
struct block_scan {
	const uint32_t *series_ids; /* ascending */
	size_t n_series;
	uint64_t from_slot;
	uint64_t to_slot;
	store_row_function function;
	void *arg;
};

/*
 * Calls the function of @scan for the selected rows of the block @content. -EBADMSG: the block is
 * damaged. If the function returns a negative value, the scan ends, *ret_stopped is that value, and
 * the result is 0.
 */
int block_scan_rows(struct bytes_view content, uint64_t min_slot, uint64_t n_rows,
		    const struct block_scan *scan, struct block_scratch *scratch, int *ret_stopped);

/* A sum over blocks: its series and the range, and the results so far. */
struct block_sum {
	const struct store_sum_query *query;
	uint64_t from_slot, to_slot; /* of the query, clipped to the file */
	struct sum_table table;
	uint64_t n_rows;
	uint64_t marked_value;
};

/*
 * Adds the selected rows of the block @content to @sum. -EBADMSG: the block is damaged. @max_slot
 * is the block's last slot: if all its rows are in the range, they need no comparison.
 */
int block_sum_rows(struct bytes_view content, uint64_t min_slot, uint64_t max_slot, uint64_t n_rows,
		   struct block_sum *sum, struct block_scratch *scratch);
