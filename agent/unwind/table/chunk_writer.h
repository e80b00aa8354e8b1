/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Cuts an unwind table into the chunks that the BPF maps hold (bpf/abi/unwind_maps.h). Each chunk
 * has the rules of its rows, so that it can be loaded alone. A chunk holds as many whole code pages
 * as fit. A code page with more rows than a chunk gets its own chunks, which are cut at multiples
 * of 64 bytes.
 */

#include "agent/unwind/table/unwind_table.h"
#include "bpf/abi/unwind_maps.h"

/* Each row of a chunk may have a different rule. */
#define CHUNK_MAX_RULES UNWIND_CHUNK_ROWS

/*
 * A chunk outside the maps: its owner is 0, and rows hold indices into @rules.
 *
 *   rules[n_rules]   the distinct rules of its rows
 */
struct chunk_record {
	struct abi_unwind_chunk chunk;
	uint32_t n_rules;
	struct abi_unwind_rule rules[CHUNK_MAX_RULES];
};

/* A negative value stops the writing. The record is valid during the call. */
typedef int (*chunk_function)(void *arg, const struct chunk_record *record);

/*
 * Calls @on_chunk for each chunk, by rising address. 0, -ENOMEM, or the negative value of
 * @on_chunk.
 */
int chunk_writer_run(const struct unwind_table *table, chunk_function on_chunk, void *arg);
