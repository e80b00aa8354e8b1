/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/budget.h"

/* Numbers of intervals, which budget.h explains. */
#define CPU_INTERVALS_OVER 3
#define PATIENCE_INTERVALS 4 /* before doubling */
#define MAX_DOUBLINGS      4

/* If a limit is exceeded within this time after a step back, that step is taken for the cause. */
#define RELAPSE_INTERVALS (3 * PATIENCE_INTERVALS)

void budget_init(struct budget *budget, const struct budget_limits *limits)
{
	*budget = (struct budget){ .limits = *limits };
}

/* The first measure to tighten for memory, and for CPU time: see the header. */
#define FIRST_FOR_MEMORY BUDGET_UNWIND
#define FIRST_FOR_CPU    BUDGET_FIRST_SOURCE

static bool memory_is_exceeded(const struct budget *budget)
{
	return budget->memory_bytes > budget->limits.memory_bytes;
}

static bool cpu_is_exceeded(const struct budget *budget)
{
	return budget->limits.cpu_ns_per_s != 0 &&
	       budget->cpu_ns_per_s > budget->limits.cpu_ns_per_s;
}

bool budget_is_exceeded(const struct budget *budget)
{
	return memory_is_exceeded(budget) || cpu_is_exceeded(budget);
}

static bool has_step_left(const struct budget *budget, enum budget_measure first)
{
	for (enum budget_measure i = first; i < BUDGET_MEASURE_COUNT; i++)
		if (budget->step[i] < budget->limits.max_step[i])
			return true;
	return false;
}

bool budget_is_exhausted(const struct budget *budget)
{
	return (memory_is_exceeded(budget) && !has_step_left(budget, FIRST_FOR_MEMORY)) ||
	       (cpu_is_exceeded(budget) && !has_step_left(budget, FIRST_FOR_CPU));
}

/* Returns whether an interval ended. */
static bool measure_cpu(struct budget *budget, const struct budget_reading *reading)
{
	uint64_t elapsed_ns = reading->now_ns - budget->interval_start_ns;
	uint64_t used_ns = reading->cpu_ns - budget->interval_cpu_ns;
	bool is_first = budget->interval_start_ns == 0;

	if (!is_first && elapsed_ns < budget->limits.interval_ns)
		return false;
	budget->interval_start_ns = reading->now_ns;
	budget->interval_cpu_ns = reading->cpu_ns;
	if (is_first)
		return false;
	budget->cpu_ns_per_s =
		(uint64_t)((double)used_ns / (double)elapsed_ns * (double)NSEC_PER_SEC);
	budget->n_intervals_over = cpu_is_exceeded(budget) ? budget->n_intervals_over + 1 : 0;
	return true;
}

static bool tighten(struct budget *budget, uint64_t now_ns, enum budget_measure first,
		    enum budget_measure *ret_measure)
{
	for (enum budget_measure i = first; i < BUDGET_MEASURE_COUNT; i++) {
		if (budget->step[i] >= budget->limits.max_step[i])
			continue;
		budget->step[i]++;
		budget->n_tightened++;
		budget->calm_since_ns = 0;
		if (budget->relaxed_ns != 0 &&
		    now_ns < budget->relaxed_ns + RELAPSE_INTERVALS * budget->limits.interval_ns)
			budget->n_doublings =
				MIN(budget->n_doublings + 1, (unsigned int)MAX_DOUBLINGS);
		budget->relaxed_ns = 0;
		*ret_measure = i;
		return true;
	}
	return false;
}

/*
 * Whether a step back would keep both limits: it at most doubles the cost that the measure bounds.
 * All other costs are assumed not to change.
 */
static bool has_room_for(const struct budget *budget, enum budget_measure measure,
			 const struct budget_reading *reading)
{
	uint64_t memory_bytes = reading->memory_bytes;
	uint64_t cpu_ns_per_s = budget->cpu_ns_per_s;

	if (measure == BUDGET_UNWIND)
		memory_bytes += reading->unwind_bytes;
	else
		cpu_ns_per_s *= 2;
	if (memory_bytes > budget->limits.memory_bytes / 10 * 9)
		return false;
	return budget->limits.cpu_ns_per_s == 0 ||
	       cpu_ns_per_s <= budget->limits.cpu_ns_per_s / 10 * 9;
}

static uint64_t patience_ns(const struct budget *budget)
{
	return (PATIENCE_INTERVALS * budget->limits.interval_ns) << budget->n_doublings;
}

static bool relax(struct budget *budget, const struct budget_reading *reading,
		  enum budget_measure *ret_measure)
{
	for (enum budget_measure i = BUDGET_MEASURE_COUNT; i-- > 0;) {
		if (budget->step[i] == 0 || !has_room_for(budget, i, reading))
			continue;
		if (budget->calm_since_ns == 0)
			budget->calm_since_ns = reading->now_ns;
		if (reading->now_ns - budget->calm_since_ns < patience_ns(budget))
			return false;
		budget->step[i]--;
		budget->n_relaxed++;
		budget->calm_since_ns = reading->now_ns;
		budget->relaxed_ns = reading->now_ns;
		*ret_measure = i;
		return true;
	}
	budget->calm_since_ns = 0;
	return false;
}

enum budget_change budget_update(struct budget *budget, const struct budget_reading *reading,
				 enum budget_measure *ret_measure)
{
	bool interval_ended = measure_cpu(budget, reading);

	budget->memory_bytes = reading->memory_bytes;
	if (memory_is_exceeded(budget)) {
		budget->calm_since_ns = 0;
		/* A short peak causes no step, and a step has an effect only after some time. */
		if (budget->memory_over_since_ns == 0)
			budget->memory_over_since_ns = reading->now_ns;
		if (reading->now_ns - budget->memory_over_since_ns <
		    budget->limits.interval_ns * 2 / 3)
			return BUDGET_UNCHANGED;
		budget->memory_over_since_ns = reading->now_ns;
		if (tighten(budget, reading->now_ns, FIRST_FOR_MEMORY, ret_measure))
			return BUDGET_TIGHTENED_FOR_MEMORY;
		return BUDGET_UNCHANGED;
	}
	budget->memory_over_since_ns = 0;
	if (interval_ended && budget->n_intervals_over >= CPU_INTERVALS_OVER) {
		budget->n_intervals_over = 0;
		if (tighten(budget, reading->now_ns, FIRST_FOR_CPU, ret_measure))
			return BUDGET_TIGHTENED_FOR_CPU;
		return BUDGET_UNCHANGED;
	}
	if (!interval_ended || cpu_is_exceeded(budget))
		return BUDGET_UNCHANGED;
	return relax(budget, reading, ret_measure) ? BUDGET_RELAXED : BUDGET_UNCHANGED;
}
