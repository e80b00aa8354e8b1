/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Durations, and their percentiles. */

#include "common/vec.h"

VEC_DEFINE(latencies, uint64_t); /* ns */

/*
 * The smallest duration that at least @percent % of all do not exceed, in ms; 0 if there are none.
 * Sorts @latencies.
 */
double latencies_percentile_ms(struct latencies *latencies, double percent);
