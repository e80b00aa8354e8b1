/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The state of the fleet's agents in a time range: how long each ran, how much it lost, and the CPU
 * time it used. All of it is computed from the times and counters of batches; no sample is read.
 */

#include "symbolizer/query/losses.h"

struct fleet {
	struct host_losses *hosts; /* [count] hosts with an agent that ran in the range, by name */
	size_t count;
	size_t n_not_seen;      /* other hosts */
	uint64_t covered_slots; /* slots in which at least one agent ran */
};

/*
 * Lists the hosts of the view's tenant in @range, allocated in @arena. The store has one host
 * for each boot; boots with the same host name are joined here. Returns 0, -E2BIG if the range has
 * too many batches, or another negative errno.
 */
int fleet_list(struct store_view *view, const struct losses_range *range, struct arena *arena,
	       struct fleet *ret_fleet);
