/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A queue of records that wait until the files of their process are identified, or until an unwind
 * table is made. They are samples, copies of stacks, and mapping events. An event that replaces a
 * mapping waits until the older samples of its process are processed, because their addresses must
 * be looked up in the mapping that the event replaces.
 *
 * A record waits until its deadline, and all records together are bounded in bytes. When the
 * deadline has passed, or there is no room for a record, the record is processed with the files and
 * tables that are known by then.
 *
 * Records of one process are processed in the order in which they were added, because a sample with
 * the hash of its stack needs the earlier sample with the stack itself.
 *
 * Used by the agent's main thread.
 */

#include "common/base.h"

struct parked_records;

enum parked_kind {
	PARKED_SAMPLE, /* struct abi_sample and its frames */
	PARKED_COPY,   /* struct abi_stack_copy */
	PARKED_EVENT,  /* struct process_event, then its path */
};

struct parked_record {
	uint32_t pid;
	enum parked_kind kind;
	const void *bytes;
	size_t size;
	uint32_t waits_for; /* executable with an unwind table that is being made; 0: none */
};

int parked_records_new(size_t max_bytes, struct parked_records **ret_records);
struct parked_records *parked_records_free(struct parked_records *records);

/* Whether a record of @pid waits. If so, later records of that process must wait too. */
bool parked_records_has(const struct parked_records *records, uint32_t pid);

/*
 * Copies the record, with its bytes. It waits until @deadline_ns (monotonic). 0, -ENOSPC: there is
 * no room, -ENOMEM.
 */
int parked_records_add(struct parked_records *records, const struct parked_record *record,
		       uint64_t deadline_ns);

/*
 * Processes @record if it need not wait any longer. If @is_late, processes it in any case. May set
 * record->waits_for. Returns 0: the record still has to wait; 1: it was processed; 2: it was
 * processed, and parked_records_run() should return; negative errno: the record is dropped, and
 * parked_records_run() returns.
 */
typedef int (*parked_try)(void *arg, struct parked_record *record, bool is_late);

/*
 * Calls @function for all records in their order. After @function returns 0 for a record, later
 * records of the same process are skipped. A record for which it returns another value is removed.
 * Returns 0; 1 if @function returned 2; or the first error of @function.
 */
int parked_records_run(struct parked_records *records, uint64_t now_ns, parked_try function,
		       void *arg);

/*
 * Calls @function with @is_late for all records of @pid, also after @function returned 2, and
 * removes them. Returns 0, or the first error of @function.
 */
int parked_records_end(struct parked_records *records, uint32_t pid, parked_try function,
		       void *arg);

size_t parked_records_count(const struct parked_records *records);

/* Number of samples and stack copies that were processed with @is_late. */
uint64_t parked_records_late(const struct parked_records *records);

#include "common/scoped.h"
DEFINE_SCOPED(struct parked_records *, parked_records_free);
