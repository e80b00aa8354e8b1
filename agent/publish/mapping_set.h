/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The executable mappings of a process as the BPF maps hold them: sorted, in chunks, with a
 * directory when there is more than one (bpf/abi/mapping.h).
 *
 * Anonymous mappings that touch are one. Of a process with more than ABI_MAX_MAPPINGS those with
 * nothing but gaps between them become one as well. If that is not enough, all that begin behind
 * the last one that fits are told as one anonymous range, whose pcs the agent looks up in its own
 * list: stacks are right, but frames there have no unwind rows.
 *
 * A set is a buffer that is filled again and again. Used by the agent's main thread.
 */

#include "agent/process/process_table.h"
#include "bpf/abi/mapping.h"
#include "common/vec.h"

VEC_DEFINE(abi_mapping_vec, struct abi_mapping);

struct mapping_set {
	struct abi_mapping_vec mappings;
};

void mapping_set_release(struct mapping_set *set);

/* 0; 1: not all mappings fit, see above; -ENOMEM. */
int mapping_set_fill(struct mapping_set *set, const struct process_mappings *from);

uint32_t mapping_set_n_chunks(const struct mapping_set *set);

/* Chunk @index of the set under the number @number; with ABI_DIRECTORY its directory. */
void mapping_set_chunk(const struct mapping_set *set, uint32_t number, uint32_t index,
		       struct abi_mapping_chunk *ret_chunk);
