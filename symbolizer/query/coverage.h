/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * How much of a time range agents were sampling in. A gap of an agent (not started yet, stopped,
 * lost batches) is not idle time, so averages divide by the covered time and not by the range that
 * was asked for.
 */

#include "common/vec.h"
#include "symbolizer/store/store.h"

/* Batches that one answer looks at: some two seconds of reading their times. A day of 460 hosts
 * with a batch each 10 s. */
#define COVERAGE_MAX_BATCHES 4000000

/* [first, end), in slots */
struct coverage_interval {
	uint64_t first, end;
};

/*
 * Covered time of [from_slot, to_slot), gathered host by host. Set the range, leave the rest zero;
 * coverage_release() frees it.
 */
struct coverage {
	uint64_t from_slot, to_slot;
	size_t n_batches; /* that were looked at */
	VEC_DEFINE(, struct coverage_interval) covered;
};

/*
 * Adds the time in which the agent of at least one of these hosts ran; *ret_slots of it are in the
 * range. 0; -E2BIG: more than COVERAGE_MAX_BATCHES in all; other negative errno: the store failed.
 * *ret_slots stays 0 with an engine that does not keep coverage.
 */
int coverage_add_hosts(struct coverage *coverage, struct store *store, const uint32_t *hosts,
		       size_t n_hosts, uint64_t *ret_slots);

/* Slots that any of the added hosts covers. */
uint64_t coverage_of_all(struct coverage *coverage);

void coverage_release(struct coverage *coverage);

/* Slots of [from_slot, to_slot) in which the agent of at least one host of these series ran; 0 also
 * where that is not known, or too much to read. */
int coverage_of_series(struct store *store, const struct store_series *series, size_t n_series,
		       uint64_t from_slot, uint64_t to_slot, uint64_t *ret_slots);

/* In whole seconds, to the nearest; what is covered at all never reads as 0. */
uint64_t coverage_seconds(uint64_t slots);
