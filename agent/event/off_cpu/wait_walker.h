/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Walks over all threads to report waits that have not ended.
 *
 * A wait consists of several records. When it begins, its stack is sent through the ring buffer as
 * a definition without a value. When it ends, its time is sent; while it lasts, the walks report it
 * in parts. The event source walks before it closes a window, so that each window contains the time
 * of open waits and the definitions of their stacks. Used by the agent's main thread.
 */

#include "agent/bpf_programs/bpf_programs.h"
#include "common/bytes.h"

/* The iterator over all threads: one of them is loaded (bpf/off_cpu_walk.bpf.c). */
#define WAIT_WALK_PROGRAM      "hearth_walk_waits"
#define WAIT_WALK_PROGRAM_FAST "hearth_walk_waits_fast"

struct wait_walker;

struct wait_walker_stats {
	uint64_t open_waits;  /* reported by the last walk with @reports */
	uint64_t walk_cpu_ns; /* CPU time of the thread that reads the walks */
	uint64_t late_walks;  /* walks that hung */
};

/*
 * Receives the records of a walk. Each function may return a negative errno, which ends the walk.
 */
struct wait_walker_reader {
	/* called after records were read from the kernel and before the first is passed on */
	int (*before_records)(void *arg);
	void *arg; /* of before_records */
	struct bpf_record_functions functions;
};

/*
 * @programs is borrowed. The thread that reads walks keeps its capabilities only with
 * @keep_capabilities. Failures are logged.
 */
int wait_walker_new(struct bpf_programs *programs, bool keep_capabilities,
		    struct wait_walker **ret_walker);
struct wait_walker *wait_walker_free(struct wait_walker *walker);

/*
 * Visits all threads of the host. With @reports the walk reports the time of open waits, else only
 * stacks that were not reported yet. A second thread reads the walk. If it hangs, the function
 * returns 0 after a second, and the next call continues the same walk and passes on the records
 * that the walk has found since.
 */
int wait_walker_walk(struct wait_walker *walker, bool reports,
		     const struct wait_walker_reader *reader);

void wait_walker_stats(const struct wait_walker *walker, struct wait_walker_stats *ret_stats);

/*
 * Takes the next record off the front of @view, which is aligned to 8 bytes. Returns its size, 0 if
 * @view holds no complete record, or -EBADMSG. The record is a struct abi_sample, or with
 * ABI_SAMPLE_COPIED a struct abi_stack_copy that ends after stack_bytes.
 */
int wait_walker_next_record(struct bytes_view *view, const struct abi_sample **ret_sample);

#include "common/scoped.h"
DEFINE_SCOPED(struct wait_walker *, wait_walker_free);
