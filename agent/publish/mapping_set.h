/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The executable mappings of a process in the form that the BPF maps hold: sorted, in chunks, with
 * a directory if there is more than one chunk (bpf/abi/mapping.h).
 *
 * Adjacent anonymous mappings are joined. If a process still has more than ABI_MAX_MAPPINGS,
 * anonymous mappings with no other mapping between them are joined across the gaps. If that is not
 * enough, one anonymous range replaces the last mapping that fits and all after it. The agent looks
 * up pcs in that range in its own list of mappings: frames have their executable, but no unwind
 * rows.
 *
 * A set is a buffer that is filled again for each process. Used by the agent's main thread.
 */

#include "agent/process/process_table.h"
#include "bpf/abi/mapping.h"
#include "common/vec.h"

VEC_DEFINE(abi_mapping_vec, struct abi_mapping);

struct mapping_set {
	struct abi_mapping_vec mappings;
};

void mapping_set_release(struct mapping_set *set);

/* 0; 1: mappings were joined across gaps or replaced, because not all fit; -ENOMEM. */
int mapping_set_fill(struct mapping_set *set, const struct process_mappings *from);

uint32_t mapping_set_n_chunks(const struct mapping_set *set);

/*
 * Fills chunk @index of the set, or its directory if @index is ABI_DIRECTORY. @number: set number.
 */
void mapping_set_chunk(const struct mapping_set *set, uint32_t number, uint32_t index,
		       struct abi_mapping_chunk *ret_chunk);
