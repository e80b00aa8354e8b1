/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* An open block: what the functions that read the rows of blocks share. */

#include "symbolizer/store/sqlite/block.h"

/* One reader for the directory and one for each column. */
struct open_block {
	struct bytes_reader runs;
	struct bytes_reader slots;
	struct bytes_reader stacks;
	struct bytes_reader values;
	uint64_t n_runs;
	uint64_t min_slot;
	bool all_one;
	const uint64_t *stack_ids;
	uint64_t n_stacks;
};

/*
 * Unpacks @content into @scratch, and sets all of *ret_block except min_slot. block->runs is before
 * the first run, the other readers before the row of that run. -EBADMSG: the block is damaged.
 */
int block_open(struct bytes_view content, uint64_t n_rows, struct block_scratch *scratch,
	       struct open_block *ret_block);

/* Skips @count numbers. Sets in->error if there are fewer. */
void block_skip_varints(struct bytes_reader *in, uint64_t count);

/* Skips the columns of a run with @count rows. */
void block_skip_run(struct open_block *block, uint64_t count);
