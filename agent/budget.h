/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Decides what to reduce when the agent needs more memory or CPU time than budget.memory and
 * budget.cpu allow. The caller measures, and carries the decisions out. This module reads no clock
 * and no file.
 *
 * Each measure has steps from 0 (not reduced) to a maximum, and each step halves what the measure
 * bounds. When memory is exceeded, the first measure with a step left is tightened. When CPU time
 * is exceeded, the same without BUDGET_UNWIND, because fewer resident unwind rows cost CPU time.
 *
 *   BUDGET_UNWIND                fewer chunks of unwind tables in the BPF maps
 *   BUDGET_FIRST_SOURCE and on   reductions of the event sources (agent/event/event_source.h), such
 *                                as fewer stacks of waits, then a lower on-CPU frequency
 *
 * Steps are taken back in the opposite order, one at a time. A step is taken back when memory and
 * CPU time would stay at 90 % of their limits or below even if that step cost again what it saved,
 * and this was so for a waiting time. The waiting time is four intervals (interval_ns). It doubles
 * each time a limit is exceeded soon after a step back, so that the agent does not alternate
 * between two steps.
 *
 * Memory must exceed its limit for two thirds of an interval before each step. CPU time is averaged
 * over intervals, and three averages in a row must exceed the limit, so that a short peak does not
 * reduce the sampling.
 */

#include "common/base.h"

enum budget_measure {
	BUDGET_UNWIND,
	BUDGET_FIRST_SOURCE,
	BUDGET_MEASURE_COUNT = 16, /* room for 15 sources */
};

struct budget_limits {
	uint64_t memory_bytes;
	uint64_t cpu_ns_per_s; /* 0: none */
	uint64_t interval_ns;
	uint8_t max_step[BUDGET_MEASURE_COUNT]; /* 0: the measure is not available */
};

struct budget_reading {
	uint64_t now_ns;       /* CLOCK_MONOTONIC, rising */
	uint64_t memory_bytes; /* needed now */
	uint64_t unwind_bytes; /* the part of memory_bytes that BUDGET_UNWIND bounds */
	uint64_t cpu_ns;       /* used since the agent started */
};

struct budget {
	struct budget_limits limits;
	uint8_t step[BUDGET_MEASURE_COUNT];
	uint64_t cpu_ns_per_s;           /* mean of the last interval */
	uint64_t memory_bytes;           /* as of the last reading */
	uint64_t n_tightened, n_relaxed; /* steps taken, and taken back */

	/* Internal. */
	uint64_t interval_start_ns, interval_cpu_ns; /* 0: no reading yet */
	unsigned int n_intervals_over;
	/* memory is exceeded since then, or since the last step for it; 0: it is not exceeded */
	uint64_t memory_over_since_ns;
	uint64_t calm_since_ns;   /* a step could be taken back since then; 0: none could */
	uint64_t relaxed_ns;      /* the last step back; 0: never, or a step was taken since */
	unsigned int n_doublings; /* of the waiting time */
};

enum budget_change {
	BUDGET_UNCHANGED,
	BUDGET_TIGHTENED_FOR_MEMORY,
	BUDGET_TIGHTENED_FOR_CPU,
	BUDGET_RELAXED,
};

void budget_init(struct budget *budget, const struct budget_limits *limits);

/*
 * Takes at most one step, or takes one back, and stores its measure in *ret_measure. Also returns
 * BUDGET_UNCHANGED when no step is left: see budget_is_exhausted().
 */
enum budget_change budget_update(struct budget *budget, const struct budget_reading *reading,
				 enum budget_measure *ret_measure);

/* Whether memory or CPU time exceeds its limit, by the last readings. */
bool budget_is_exceeded(const struct budget *budget);

/* Whether memory or CPU time exceeds its limit, and no step for it is left. */
bool budget_is_exhausted(const struct budget *budget);
