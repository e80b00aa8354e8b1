/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The processes of a part, as sets that are counted fast: a run has the processes of one host,
 * ascending by start time and PID, each once. A host may have several runs.
 *
 * A list does not change. It has counted references: a cache and the queries of several threads may
 * hold it at once.
 */

#include <stdatomic.h>

#include "common/bytes.h"
#include "symbolizer/store/segment/segment.h"

struct process_key {
	uint32_t start_time_ns[2]; /* high and low half: a u64 would need 4 bytes of padding */
	uint32_t pid;
};

/* Processes of one host. */
struct process_run {
	const struct process_key *next, *end;
};

/*
 *   run_end[n_runs]    the keys of run i are keys[run_end[i - 1] .. run_end[i]), from 0 for run 0
 *   host_end[n_runs]   the same for the ID of its host in texts
 */
struct process_list {
	atomic_uint n_references;
	uint64_t first_slot, last_slot; /* of the series of the part */
	size_t bytes;                   /* of the list */
	size_t n_runs;
	uint32_t *run_end, *host_end;
	struct process_key *keys;
	char *texts;
};

/*
 * Makes a list of the processes of @segment with @is_active[process] that have stacks. 0 or
 * -ENOMEM. The caller has the only reference. @scratch has memory for the time of the call.
 */
int process_list_new(const struct segment *segment, const bool *is_active, struct arena *scratch,
		     struct process_list **ret_list);

/* Gives a reference back. */
struct process_list *process_list_free(struct process_list *list);

struct process_list *process_list_ref(struct process_list *list);

struct process_run process_list_run(const struct process_list *list, size_t run);

/* The ID of the host of a run. */
struct bytes_view process_list_host(const struct process_list *list, size_t run);

/*
 * Returns the number of different processes in @runs, all of one host. Changes the array. It takes
 * O(n log n_runs) steps for n processes, and much fewer if the runs overlap little.
 */
size_t process_runs_count(struct process_run *runs, size_t n_runs);

DEFINE_SCOPED(struct process_list *, process_list_free);
