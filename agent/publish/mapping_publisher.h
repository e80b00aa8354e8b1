/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Puts processes' mappings into the BPF maps, so that the unwinder turns pcs into frames by itself.
 * Only processes that were sampled are published; children of a fork share their parent's set.
 */

#include "agent/publish/mapping_set.h"
#include "agent/process/process_table.h"
#include "agent/bpf_programs/bpf_programs.h"
#include "common/vec.h"

VEC_DEFINE(process_vec, struct process *);

struct mapping_publisher {
	struct bpf_programs *programs;
	struct process_table *processes;
	uint32_t last_set;
	struct mapping_set set;         /* of the process that is being published */
	struct abi_mapping_chunk chunk; /* likewise */
	uint64_t n_truncated;           /* processes with more mappings than a set holds */
	/* during a run: processes that are to be published in a later run */
	struct process_vec later;
	/* map full, or no kernel memory: samples stay raw, which costs more but loses nothing */
	uint64_t failures;
};

/* Identifies what @process has mapped. */
void mapping_publisher_prepare(struct mapping_publisher *publisher, struct process *process);

void mapping_publisher_release(struct mapping_publisher *publisher);

/*
 * Publishes every process that needs it. Processes with look-ups in progress are left to a later
 * run.
 */
void mapping_publisher_run(struct mapping_publisher *publisher);

/* Observers of the process table; @arg is the publisher. */
void mapping_publisher_mappings_gone(void *arg, struct process_mappings *mappings);
void mapping_publisher_process_gone(void *arg, const struct process *process);
