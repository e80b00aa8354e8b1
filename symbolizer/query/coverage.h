/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The part of a time range in which agents were sampling ("covered"). An agent's gap (not started,
 * stopped, batches lost) is not idle time. Averages are therefore divided by the covered time, not
 * by the requested range.
 */

#include "common/vec.h"
#include "symbolizer/store/store_view.h"

/* Batches that are read for one answer; reading their times takes about two seconds. 460 hosts that
 * send a batch every 10 s have this many in a day. */
#define COVERAGE_MAX_BATCHES 4000000

/* [first, end), in slots */
struct coverage_interval {
	uint64_t first, end;
};

/*
 * Covered time of [from_slot, to_slot), collected host by host. The caller sets the range and
 * zeroes the rest; coverage_release() frees it.
 */
struct coverage {
	uint64_t from_slot, to_slot;
	size_t n_batches; /* read so far */
	VEC_DEFINE(, struct coverage_interval) covered;
};

/*
 * Adds the time in which the agent of at least one of these hosts ran, and sets *ret_slots to the
 * number of slots of the range in it (0 if the storage engine does not record coverage). The added
 * intervals are the last ones of coverage->covered, sorted, and do not touch each other. Returns 0,
 * -E2BIG after more than COVERAGE_MAX_BATCHES batches, or another negative errno of the store.
 */
int coverage_add_hosts(struct coverage *coverage, struct store_view *view, const uint32_t *hosts,
		       size_t n_hosts, uint64_t *ret_slots);

/* Slots in which the agent of at least one of the added hosts ran. */
uint64_t coverage_of_all(struct coverage *coverage);

void coverage_release(struct coverage *coverage);

/* Converts to seconds, rounded to the nearest but to at least 1 if @slots is not 0. */
uint64_t coverage_seconds(uint64_t slots);
