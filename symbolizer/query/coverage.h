/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * How much of a time range agents were sampling in. A gap of an agent (not started yet, stopped,
 * lost batches) is not idle time, so averages divide by the covered time and not by the range that
 * was asked for.
 */

#include "symbolizer/store/store.h"

/*
 * Slots of [from_slot, to_slot) in which the agent of at least one of these hosts was there.
 * *ret_slots stays 0 with an engine that does not keep coverage.
 */
int coverage_of_hosts(struct store *store, const uint32_t *hosts, size_t n_hosts,
		      uint64_t from_slot, uint64_t to_slot, uint64_t *ret_slots);

/* The same of the hosts that these series are of. */
int coverage_of_series(struct store *store, const struct store_series *series, size_t n_series,
		       uint64_t from_slot, uint64_t to_slot, uint64_t *ret_slots);

/* In whole seconds, to the nearest; what is covered at all never reads as 0. */
uint64_t coverage_seconds(uint64_t slots);
