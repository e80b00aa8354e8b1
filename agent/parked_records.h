/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Records that wait until the files of their process are identified, or an unwind table is made, in the order in which
 * they came: samples and copies of stacks, and behind them the process's mapping events, which must not change its
 * mappings before the samples that are older were looked up in them.
 *
 * A record waits some seconds at most, and all together have a bound in bytes: beyond either they go on as they are.
 * Records of one process stay in order, because a sample that carries the hash of its stack needs the one that
 * carried the stack.
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
	uint32_t waits_for; /* the executable whose unwind table it waits for; 0 none, or files */
};

int parked_records_new(size_t max_bytes, struct parked_records **ret_records);
struct parked_records *parked_records_free(struct parked_records *records);

/* Whether a record of @pid waits: then those that come after it have to. */
bool parked_records_has(const struct parked_records *records, uint32_t pid);

/* Copies the record; it waits until @deadline_ns. -ENOSPC: there is no room. -ENOMEM. */
int parked_records_add(struct parked_records *records, const struct parked_record *record, uint64_t deadline_ns);

/*
 * May set waits_for. @is_late: it waits no longer. 1 it is done with, 0 it waits on (not if late), negative errno ends
 * the run.
 */
typedef int (*parked_try)(void *arg, struct parked_record *record, bool is_late);

/*
 * Tries all records in their order, but none of a process of which an earlier one waits on. A record whose try failed
 * is gone. 0 or the error.
 */
int parked_records_run(struct parked_records *records, uint64_t now_ns, parked_try function, void *arg);

/*
 * Tries the records of @pid, as if their time was over. -EXFULL of @function does not end it. 0 or the error.
 */
int parked_records_end(struct parked_records *records, uint32_t pid, parked_try function, void *arg);

size_t parked_records_count(const struct parked_records *records);

/* That went on because their time was over. */
uint64_t parked_records_late(const struct parked_records *records);

#include "common/scoped.h"
DEFINE_SCOPED(struct parked_records *, parked_records_free);
