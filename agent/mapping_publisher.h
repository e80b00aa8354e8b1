/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Puts processes' mappings into the BPF maps, so that the unwinder turns pcs into frames by itself. Only processes that
 * were sampled are published; children of a fork share their parent's set.
 */

#include "agent/process/process_table.h"
#include "agent/profile/bpf_programs.h"
#include "agent/unwind_publisher.h"

struct mapping_publisher {
	struct bpf_programs *programs;
	struct process_table *processes;
	struct unwind_publisher *tables; /* NULL: frame pointers only */
	uint32_t last_set;
	uint64_t failures; /* map full, or no kernel memory: samples stay raw, which costs more but loses nothing */
};

/* Identifies what @process has mapped, and sees to it that the tables are in the maps. 0 or negative errno. */
int mapping_publisher_prepare(struct mapping_publisher *publisher, struct process *process);

/*
 * Writes @mappings as the maps would hold them, under the number @set: chunks[ABI_MAX_CHUNKS], and of @entry the set
 * and the index of chunks. False when there are none, or more than fit.
 */
bool mapping_publisher_describe(const struct process_mappings *mappings, uint32_t set, struct abi_process *entry,
				struct abi_mapping_chunk *chunks);

/* Publishes every process that wants it. */
void mapping_publisher_run(struct mapping_publisher *publisher);

/* Observers of the process table; @arg is the publisher. */
void mapping_publisher_mappings_gone(void *arg, struct process_mappings *mappings);
void mapping_publisher_process_gone(void *arg, const struct process *process);
