/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Values summed per process or per value of a tag. No stack is read and no name resolved, so that a
 * fleet's busiest processes or hosts cost one scan.
 */

#include "symbolizer/query/profile.h"

struct group_sum {
	const struct store_process *process; /* the process, or one of the group's */
	const char *tag; /* value of the tag, several joined by ","; NULL: it has none */
	uint64_t value;  /* in the event type's unit */
	uint64_t last_slot;
	uint32_t n_hosts;
	uint32_t n_processes;
	uint32_t n_threads;
};

/* rows[count], largest value first; without a value none is in it. */
struct group_sums {
	struct group_sum *rows;
	size_t count;
	uint64_t total;
	uint64_t n_damaged_blocks; /* left out; the message says so too */
};

/*
 * With @request->group_by a row for each of the tag's values, without it a row for each process.
 * Without a service: whole hosts. Stacks, threads and nodes of the request are not looked at.
 * @ret_sums lives in @arena.
 *
 * 1 found, and then a message says what was left out; 0 no data and -EINVAL a mistake of the
 * request, both with a message; other negative errno: the store failed.
 */
int group_sums_query(struct store *store, const struct profile_request *request,
		     struct arena *arena, struct group_sums *ret_sums,
		     char ret_message[PROFILE_MESSAGE_SIZE]);
