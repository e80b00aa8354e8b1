/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Off-CPU time: starts to observe context switches, and walks over all threads to report waits that
 * have not ended.
 *
 * A wait consists of several records. When it begins, its stack is sent through the ring buffer as
 * a definition without a value. When it ends, its time is sent; while it lasts, the walks report it
 * in parts. The agent walks before it closes a window, so that each window contains the time of
 * open waits and the definitions of their stacks. Used by the agent's main thread.
 */

#include "agent/bpf_programs/bpf_programs.h"
#include "common/bytes.h"

struct off_cpu;

struct off_cpu_stats {
	uint64_t open_waits;  /* reported by the last walk with @reports */
	uint64_t walk_cpu_ns; /* CPU time of the thread that reads the walks */
	uint64_t late_walks;  /* walks that hung */
};

/*
 * Receives the records of a walk. Each function may return a negative errno, which ends the walk.
 */
struct off_cpu_reader {
	/* called after records were read from the kernel and before the first is passed on */
	int (*before_records)(void *arg);
	struct bpf_record_functions functions;
};

/*
 * @programs is borrowed. The thread that reads walks keeps its capabilities only with
 * @keep_capabilities. Failures are logged.
 */
int off_cpu_start(struct bpf_programs *programs, bool keep_capabilities,
		  struct off_cpu **ret_off_cpu);
struct off_cpu *off_cpu_free(struct off_cpu *off_cpu);

/*
 * Visits all threads of the host. With @reports the walk reports the time of open waits, else only
 * stacks that were not reported yet. A second thread reads the walk. If it hangs, the function
 * returns 0 after a second, and the next call continues the same walk and passes on the records
 * that the walk has found since.
 */
int off_cpu_walk(struct off_cpu *off_cpu, bool reports, const struct off_cpu_reader *reader);

void off_cpu_stats(const struct off_cpu *off_cpu, struct off_cpu_stats *ret_stats);

/*
 * Takes the next record off the front of @view, which is aligned to 8 bytes. Returns its size, 0 if
 * @view holds no complete record, or -EBADMSG. The record is a struct abi_sample, or with
 * ABI_SAMPLE_COPIED a struct abi_stack_copy that ends after stack_bytes.
 */
int off_cpu_next_record(struct bytes_view *view, const struct abi_sample **ret_sample);

#include "common/scoped.h"
DEFINE_SCOPED(struct off_cpu *, off_cpu_free);
