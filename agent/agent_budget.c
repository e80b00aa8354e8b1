/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compares memory and CPU time of the agent with its budget once per batch. agent/budget.h decides
 * which measure to tighten or relax; this file carries that out, logs it and reports it in metrics
 * and in a label. docs/agent-budget.md describes it for users.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "agent/agent_internal.h"
#include "common/log.h"

/* Each step halves the chunks: down to an eighth. */
#define MAX_STEPS_UNWIND 3

/* Size of the label's value: "unwind chunks 1/8, stacks of waits 1/16, on-CPU 12.38 of 99 Hz". */
#define STATE_SIZE (BUDGET_MEASURE_COUNT * EVENT_REDUCTION_TEXT_SIZE)

static_assert(BUDGET_FIRST_SOURCE + EVENT_SOURCE_COUNT <= BUDGET_MEASURE_COUNT,
	      "each event source may have a measure");

/* The first source of the table is reduced last. */
static enum budget_measure measure_of(enum event_source_id id)
{
	return (enum budget_measure)(BUDGET_FIRST_SOURCE + (EVENT_SOURCE_COUNT - 1 - id));
}

/* The source that @measure reduces. */
static enum event_source_id source_of(enum budget_measure measure)
{
	assert(measure >= BUDGET_FIRST_SOURCE &&
	       measure < BUDGET_FIRST_SOURCE + EVENT_SOURCE_COUNT);
	return (enum event_source_id)(EVENT_SOURCE_COUNT - 1 - (measure - BUDGET_FIRST_SOURCE));
}

static const char *name_of(enum budget_measure measure)
{
	return measure == BUDGET_UNWIND ? "unwind chunks"
					: event_source(source_of(measure))->reduction->what;
}

/* Time in which @measure was reduced. */
static enum agent_metric reduced_metric(enum budget_measure measure)
{
	return measure == BUDGET_UNWIND ? AGENT_METRIC_REDUCED_UNWIND_NS
					: event_source(source_of(measure))->reduction->reduced_ns;
}

/* Parts of the pool of unwind chunks before the first step was taken, or now if none was. */
static uint32_t unreduced_parts(const struct agent *agent)
{
	return agent->unreduced_parts > 0 ? agent->unreduced_parts
					  : paged_rows_parts(&agent->tables.rows);
}

/*
 * Halves the size that the pool had when the first step was taken. The pool may never reach
 * unwind.table_size, so half of that might be no reduction.
 */
static void limit_unwind_chunks(struct agent *agent, unsigned int step)
{
	uint32_t parts = unreduced_parts(agent);

	agent->unreduced_parts = step > 0 ? parts : 0;
	paged_rows_limit(&agent->tables.rows, step > 0 ? parts >> step : UINT32_MAX);
}

static struct budget_limits limits_of(const struct agent *agent)
{
	const struct agent_config *config = agent->config;
	uint64_t n_cpus = (uint64_t)MAX(sysconf(_SC_NPROCESSORS_ONLN), 1);
	struct budget_limits limits = {
		.memory_bytes = config->budget_memory_bytes,
		.cpu_ns_per_s = config->budget_cpu_pct * n_cpus * (NSEC_PER_SEC / 100),
		.interval_ns = config->budget_interval_ns,
	};

	while (limits.max_step[BUDGET_UNWIND] < MAX_STEPS_UNWIND &&
	       unreduced_parts(agent) >> (limits.max_step[BUDGET_UNWIND] + 1) > 0)
		limits.max_step[BUDGET_UNWIND]++;
	for (enum event_source_id i = 0; i < EVENT_SOURCE_COUNT; i++) {
		const struct event_reduction *reduction = event_source(i)->reduction;

		if (reduction && agent->sources.started[i])
			limits.max_step[measure_of(i)] =
				reduction->max_step(agent->sources.started[i]);
	}
	return limits;
}

void agent_budget_begin(struct agent *agent)
{
	const struct budget_limits limits = limits_of(agent);

	budget_init(&agent->budget, &limits);
}

/* Appends to a list separated by commas. */
static void append(char state[STATE_SIZE], const char *text)
{
	size_t used = strlen(state);

	(void)snprintf(state + used, STATE_SIZE - used, "%s%s", used ? ", " : "", text);
}

/* Writes the steps in effect as text; "" if there are none. */
static void describe(const struct agent *agent, char ret_state[STATE_SIZE])
{
	const uint8_t *step = agent->budget.step;
	char text[EVENT_REDUCTION_TEXT_SIZE];

	ret_state[0] = '\0';
	for (enum budget_measure i = 0; i < BUDGET_MEASURE_COUNT; i++) {
		if (step[i] == 0)
			continue;
		if (i == BUDGET_UNWIND)
			(void)snprintf(text, sizeof(text), "unwind chunks 1/%u", 1u << step[i]);
		else
			event_source(source_of(i))
				->reduction->describe(agent->sources.started[source_of(i)], step[i],
						      text);
		append(ret_state, text);
	}
}

static void log_change(const struct agent *agent, enum budget_change change,
		       enum budget_measure measure)
{
	const struct budget *budget = &agent->budget;
	unsigned int step = budget->step[measure];

	switch (change) {
	case BUDGET_TIGHTENED_FOR_MEMORY:
		log_warn("the agent needs %" PRIu64 " KiB, budget.memory allows %" PRIu64
			 " KiB: %s reduced to 1/%u",
			 budget->memory_bytes / KIB, budget->limits.memory_bytes / KIB,
			 name_of(measure), 1u << step);
		break;
	case BUDGET_TIGHTENED_FOR_CPU:
		log_warn("the agent uses %" PRIu64
			 " ms of CPU time per second, budget.cpu allows %" PRIu64
			 " ms: %s reduced to 1/%u",
			 budget->cpu_ns_per_s / NSEC_PER_MSEC,
			 budget->limits.cpu_ns_per_s / NSEC_PER_MSEC, name_of(measure), 1u << step);
		break;
	case BUDGET_RELAXED:
		log_info("the budget has room again: %s raised to 1/%u", name_of(measure),
			 1u << step);
		break;
	case BUDGET_UNCHANGED:
		break;
	}
}

static int carry_out(struct agent *agent, enum budget_measure measure)
{
	unsigned int step = agent->budget.step[measure];

	if (measure == BUDGET_UNWIND) {
		limit_unwind_chunks(agent, step);
		return 0;
	}
	return event_source(source_of(measure))
		->reduction->set_step(agent->sources.started[source_of(measure)], step);
}

static void report(struct agent *agent)
{
	const struct budget *budget = &agent->budget;
	uint64_t host_ns_per_s = (uint64_t)MAX(sysconf(_SC_NPROCESSORS_ONLN), 1) * NSEC_PER_SEC;
	bool exhausted = budget_is_exhausted(budget);

	metric_set(agent->metrics, AGENT_METRIC_BUDGET_UNWIND, budget->step[BUDGET_UNWIND]);
	for (enum event_source_id i = 0; i < EVENT_SOURCE_COUNT; i++)
		if (event_source(i)->reduction)
			metric_set(agent->metrics, event_source(i)->reduction->step,
				   budget->step[measure_of(i)]);
	metric_set(agent->metrics, AGENT_METRIC_BUDGET_TIGHTENED, budget->n_tightened);
	metric_set(agent->metrics, AGENT_METRIC_BUDGET_RELAXED, budget->n_relaxed);
	metric_set(agent->metrics, AGENT_METRIC_CPU_PPM,
		   budget->cpu_ns_per_s * 1000 / (host_ns_per_s / 1000));
	metric_set(agent->metrics, AGENT_METRIC_BUDGET_EXCEEDED, exhausted);
	if (exhausted && !agent->over_budget)
		log_warn(
			"the agent needs %" PRIu64 " KiB and %" PRIu64
			" ms of CPU time per second, more than its budget, after all reductions: "
			"raise budget.memory or budget.cpu, or lower ring_size or on_cpu.frequency",
			budget->memory_bytes / KIB, budget->cpu_ns_per_s / NSEC_PER_MSEC);
	agent->over_budget = agent->over_budget || exhausted;
}

/* Adds the time since the last call to the measures that were reduced in it. */
static void count_reduced_time(struct agent *agent, uint64_t now_ns)
{
	uint64_t elapsed_ns = agent->budget_read_ns > 0 ? now_ns - agent->budget_read_ns : 0;

	agent->budget_read_ns = now_ns;
	for (enum budget_measure i = 0; i < BUDGET_MEASURE_COUNT; i++)
		if (agent->budget.step[i] > 0)
			metric_add(agent->metrics, reduced_metric(i), elapsed_ns);
}

int agent_enforce_budget(struct agent *agent)
{
	const struct budget_reading reading = {
		.now_ns = clock_monotonic_ns(agent->clock),
		.memory_bytes = metric_get(agent->metrics, AGENT_METRIC_MEMORY_BYTES),
		.unwind_bytes = paged_rows_parts(&agent->tables.rows) * (uint64_t)UNWIND_PART_BYTES,
		.cpu_ns = metric_get(agent->metrics, AGENT_METRIC_CPU_NS) +
			  metric_get(agent->metrics, AGENT_METRIC_BPF_NS) +
			  metric_get(agent->metrics, AGENT_METRIC_HELPERS_CPU_NS),
	};
	enum budget_measure measure;
	enum budget_change change;
	char state[STATE_SIZE];
	int r;

	agent->is_measured = false;
	count_reduced_time(agent, reading.now_ns);
	/* The configuration, or the number of online CPUs, may have changed. */
	agent->budget.limits = limits_of(agent);
	change = budget_update(&agent->budget, &reading, &measure);
	/* Not earlier: CPU time near its limit would log the same warning again and again. */
	if (change == BUDGET_RELAXED)
		agent->over_budget = false;
	if (change != BUDGET_UNCHANGED) {
		log_change(agent, change, measure);
		r = carry_out(agent, measure);
		if (r < 0)
			return r;
		describe(agent, state);
		r = host_info_set_label(&agent->host, "agent.reduced", state);
		if (r < 0)
			return r;
	}
	report(agent);
	return 0;
}
