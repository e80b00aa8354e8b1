/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Decides what to reduce when the agent needs more memory or CPU time than budget.memory and
 * budget.cpu allow. The caller measures, and carries the decisions out. This module reads no clock
 * and no file.
 *
 * Each measure has a step from 0 (not reduced) to a maximum, and each step halves what the measure
 * bounds. When the agent exceeds its memory limit, the first measure below its maximum takes a
 * step. When it exceeds its CPU limit, the first one after BUDGET_UNWIND does, because fewer
 * resident unwind rows cost CPU time.
 *
 *   BUDGET_UNWIND                fewer chunks of unwind tables in the BPF maps
 *   BUDGET_FIRST_SOURCE and on   reductions of the event sources (agent/event/event_source.h), such
 *                                as fewer stacks of waits, then a lower on-CPU frequency
 *
 * Steps are taken back in the opposite order, one at a time. Before a step is taken back, memory
 * and CPU time must have room for it during a waiting time: they would be at most 90 % of their
 * limits if the resident unwind rows took twice their memory (BUDGET_UNWIND), or if the agent
 * needed twice its CPU time (all others). The waiting time is four intervals (interval_ns). It
 * doubles each time a limit is exceeded soon after a step was taken back, so that the agent does
 * not alternate between two steps.
 *
 * A step for memory is taken after memory has exceeded its limit for two thirds of an interval. CPU
 * time is averaged over intervals, and a step is taken after three averages in a row above the
 * limit, so that a short peak does not reduce the sampling.
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
	/* when memory began to exceed its limit, or the last step for it; 0: it is below */
	uint64_t memory_over_since_ns;
	uint64_t calm_since_ns; /* start of the waiting time; 0: there is no room for a step back */
	uint64_t relaxed_ns; /* when a step was last taken back; 0: never, or one was taken since */
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
