/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Off-CPU time: watching context switches, and the walks over all threads that tell of waits that
 * are not over.
 *
 * A wait comes as records: its stack when it begins (through the ring buffer, a definition without
 * value), and its time when it is over, or in parts while it goes on. Who closes a window walks
 * first, so that each open wait is told, and its stack stays known, in every window. Used by the
 * agent's main thread.
 */

#include "agent/bpf_programs/bpf_programs.h"
#include "common/bytes.h"

struct off_cpu;

struct off_cpu_stats {
	uint64_t open_waits;  /* reported by the last walk that had to */
	uint64_t walk_cpu_ns; /* of the thread that reads the walks */
	uint64_t late_walks;  /* walks that hung */
};

/* What a walk hands its records to. Each may return a negative errno, which ends the walk. */
struct off_cpu_reader {
	/* records were read from the kernel, none was handed over yet */
	int (*before_records)(void *arg);
	struct bpf_record_functions functions;
};

/*
 * Borrows @programs. The thread that reads walks has capabilities only with @keep_capabilities.
 * Logs failures.
 */
int off_cpu_start(struct bpf_programs *programs, bool keep_capabilities,
		  struct off_cpu **ret_off_cpu);
struct off_cpu *off_cpu_free(struct off_cpu *off_cpu);

/*
 * Visits all threads of the host. With @reports the walk reports the time of open waits, else only
 * stacks that were not reported yet. A second thread reads the walk. If it hangs, the function
 * returns 0 after a second, and the next call continues the same walk: it hands over what the walk
 * has found since.
 */
int off_cpu_walk(struct off_cpu *off_cpu, bool reports, const struct off_cpu_reader *reader);

void off_cpu_stats(const struct off_cpu *off_cpu, struct off_cpu_stats *ret_stats);

/*
 * Takes the next record off the front of @view, which is aligned to 8 bytes. Its size, 0 when there
 * is no whole one left, or -EBADMSG. It begins with its header; it is a struct abi_stack_copy up to
 * its stack_bytes where that says so.
 */
int off_cpu_next_record(struct bytes_view *view, const struct abi_sample **ret_sample);

#include "common/scoped.h"
DEFINE_SCOPED(struct off_cpu *, off_cpu_free);
