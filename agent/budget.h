/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Decides what the agent gives up when it needs more memory or CPU time than budget.memory and budget.cpu allow.
 * Measurements in, steps out: no clock, no file, no side effect.
 *
 * There are three measures. Each has steps 0 (nothing given up) to its highest; a step halves what the measure bounds.
 * Over the memory budget the first of these that is left is taken, over the CPU budget the first but BUDGET_UNWIND,
 * because fewer resident unwind rows cost CPU time:
 *
 *   BUDGET_UNWIND     fewer chunks of unwind tables in the BPF maps
 *   BUDGET_OFF_CPU    fewer stacks of waits (their time stays exact)
 *   BUDGET_FREQUENCY  a lower on-CPU frequency (values stay right, each sample counts its period)
 *
 * Steps are taken back in the opposite order, one at a time, when what a measure gives back would leave both budgets at
 * 90 % or below, for as long as the patience lasts. That is one minute at first, and doubles each time when the budget
 * is exceeded again soon after a step was taken back: so the agent does not swing between two steps.
 *
 * Memory must exceed the budget for 10 s before each step. CPU time is judged by means over 15 s, and three of them in
 * a row must exceed the budget: a new executable, whose table takes a second to compile, is no reason to sample less.
 */

#include "common/base.h"

enum budget_measure {
	BUDGET_UNWIND,
	BUDGET_OFF_CPU,
	BUDGET_FREQUENCY,
	BUDGET_MEASURE_COUNT,
};

struct budget_limits {
	uint64_t memory_bytes;
	uint64_t cpu_ns_per_s; /* 0: none */
	uint8_t max_step[BUDGET_MEASURE_COUNT]; /* 0: the measure is not available */
};

struct budget_reading {
	uint64_t now_ns;       /* CLOCK_MONOTONIC, rising */
	uint64_t memory_bytes; /* needed now */
	uint64_t unwind_bytes; /* of them, bounded by BUDGET_UNWIND */
	uint64_t cpu_ns;       /* used since the agent started */
};

struct budget {
	struct budget_limits limits;
	uint8_t step[BUDGET_MEASURE_COUNT];
	uint64_t cpu_ns_per_s;	/* mean of the last interval */
	uint64_t memory_bytes;	/* as of the last reading */
	uint64_t n_tightened, n_relaxed; /* steps taken, and taken back */

	/* Internal. */
	uint64_t interval_start_ns, interval_cpu_ns; /* 0: no reading yet */
	unsigned int n_intervals_over;
	uint64_t memory_over_since_ns; /* or since the last step for memory; 0: it is not */
	uint64_t calm_since_ns;	    /* 0: not calm */
	uint64_t relaxed_ns;	    /* when a step was taken back last; 0 never, or long ago */
	uint64_t patience_ns;
};

enum budget_change {
	BUDGET_UNCHANGED,
	BUDGET_TIGHTENED_FOR_MEMORY,
	BUDGET_TIGHTENED_FOR_CPU,
	BUDGET_RELAXED,
};

void budget_init(struct budget *budget, const struct budget_limits *limits);

/*
 * Takes at most one step; *ret_measure is whose. Nothing left to give up is BUDGET_UNCHANGED too: see
 * budget_is_exceeded().
 */
enum budget_change budget_update(struct budget *budget, const struct budget_reading *reading,
				 enum budget_measure *ret_measure);

/* By the last readings, whatever was given up. */
bool budget_is_exceeded(const struct budget *budget);
