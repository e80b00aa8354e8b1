/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The values of a selection, summed per process or per value of a tag. The query reads no stacks
 * and resolves no names: the busiest processes or hosts of a fleet cost one scan.
 */

#include "symbolizer/query/profile.h"

struct group_sum {
	const struct store_process *process; /* with a tag: any process of the group */
	const char *tag; /* the tag's values, joined by ","; NULL: the group has none */
	uint64_t value;  /* in the event type's unit */
	uint64_t last_slot;
	uint32_t n_hosts;
	uint32_t n_processes;
	uint32_t n_threads;
};

/* rows[count], each with a value, the largest first. */
struct group_sums {
	struct group_sum *rows;
	size_t count;
	uint64_t total;
	uint64_t n_damaged_blocks; /* blocks of the store that were skipped, also in the message */
	struct losses losses;      /* of the selected hosts */
};

/*
 * Makes a row for each value of the tag @request->group_by, or for each process if that is not set.
 * Without a service the selection is Total: whole hosts. The options of the request for stacks,
 * threads and nodes have no effect. @ret_sums is allocated in @arena.
 *
 * Returns 1 if there are rows (ret_message is empty or names skipped blocks), 0 if there are no
 * data (ret_message has the reason), -EINVAL if the request is wrong (ret_message has the error),
 * or another negative errno if the store failed.
 */
int group_sums_query(struct store_view *view, const struct profile_request *request,
		     struct arena *arena, struct group_sums *ret_sums,
		     char ret_message[PROFILE_MESSAGE_SIZE]);
