/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Publishes mappings: writes the executable mappings of processes into the BPF maps, so that the
 * unwinder in the kernel turns pcs into frames. Only processes that were sampled are published. The
 * children of a fork share their parent's set of mappings until one of them maps something.
 *
 * Used by the agent's main thread.
 */

#include "agent/process/process_table.h"
#include "agent/bpf_programs/bpf_programs.h"
#include "agent/publish/interpreter_publisher.h"
#include "agent/publish/mapping_set.h"
#include "common/vec.h"

VEC_DEFINE(process_vec, struct process *);

/*
 * The owner sets @programs and @processes, which are borrowed, and @interpreters. All other fields
 * begin as 0.
 */
struct mapping_publisher {
	struct bpf_programs *programs;
	struct process_table *processes;
	struct interpreter_publisher interpreters;
	uint32_t last_set;              /* number of the newest set */
	struct mapping_set set;         /* buffer: the set that is being published */
	struct abi_mapping_chunk chunk; /* buffer: one chunk of the set */
	uint64_t n_truncated;           /* processes with more mappings than a set holds */
	/*
	 * Callbacks; NULL: none. jvm_mapped: @process was published and has mapped a JVM at
	 * @mapping. jvm_gone: @process has ended, with or without a JVM.
	 */
	void *jvm_arg;
	void (*jvm_mapped)(void *arg, const struct process *process,
			   const struct process_mapping *mapping);
	void (*jvm_gone)(void *arg, const struct process *process);
	struct process_vec later; /* during a run: processes left to a later run */
	/*
	 * Processes that could not be published: a BPF map was full, or memory was short. The agent
	 * then unwinds copies of their stacks. This costs more CPU time, but no stack is lost.
	 */
	uint64_t failures;
};

/* Begins to identify the files that @process has mapped. */
void mapping_publisher_prepare(struct mapping_publisher *publisher, struct process *process);

void mapping_publisher_release(struct mapping_publisher *publisher);

/*
 * Publishes every process that needs it at @now_ns (monotonic). A process with look-ups in progress
 * is left to a later run.
 */
void mapping_publisher_run(struct mapping_publisher *publisher, uint64_t now_ns);

/* Functions of a struct process_observer; @arg is the publisher. */
void mapping_publisher_mappings_gone(void *arg, struct process_mappings *mappings);
void mapping_publisher_process_gone(void *arg, const struct process *process);
