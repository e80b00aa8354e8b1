/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records in, in the order of time: a sample must meet the mappings that its process had at that moment. So before a
 * sample is looked at, all process events older than it are applied; the rings of events are read again whenever a
 * sample is younger than the last reading.
 */
#include "agent/agent_internal.h"

/* A drain looks whether its window should be closed once in so many samples. */
#define SAMPLES_PER_LOOK_AT_CLOCK 256

static int apply_event(struct agent *agent, const struct process_event *event)
{
	int r = agent_park_event(agent, event);

	return r == 0 ? process_table_apply(agent->processes, event) : MIN(r, 0);
}

int agent_apply_events_until(struct agent *agent, uint64_t until_ns)
{
	const struct process_event *event;

	while ((event = process_events_next(agent->events, until_ns))) {
		int r = apply_event(agent, event);

		if (r < 0)
			return r;
	}
	return 0;
}

int agent_read_events(struct agent *agent)
{
	uint64_t now_ns = clock_monotonic_ns(agent->clock);
	int r;

	r = process_events_read(agent->events);
	if (r < 0)
		return r;
	agent->events_read_ns = now_ns;
	return 0;
}

/* Everything that happened to processes before @time_ns, so that a sample of then meets what it met. */
static int catch_up(struct agent *agent, uint64_t time_ns)
{
	int r;

	if (time_ns > agent->events_read_ns) {
		r = agent_read_events(agent);
		if (r < 0)
			return r;
	}
	return agent_apply_events_until(agent, time_ns);
}

uint64_t agent_window_closes_ns(const struct agent *agent)
{
	uint64_t closes_ns = agent->window_opened_ns + MAX(agent->config->batch_interval_ns, agent->server_interval_ns);

	return agent_has_parked(agent) ? closes_ns + AGENT_PARKED_MAX_NS : closes_ns;
}

/* Also in the middle of a drain: one that never catches up would otherwise never deliver anything. */
static bool window_should_close(struct agent *agent)
{
	if (agent->is_walking)
		return false;
	if (collector_is_full(agent->collector))
		return true;
	return ++agent->n_added % SAMPLES_PER_LOOK_AT_CLOCK == 0 &&
	       clock_monotonic_ns(agent->clock) >= agent_window_closes_ns(agent) + AGENT_DRAIN_INTERVAL_NS;
}

static int add_sample(struct agent *agent, const struct abi_sample *sample, const struct abi_frame *frames)
{
	int r;

	r = collector_add(agent->collector, sample, frames);
	if (r < 0)
		return r;
	/* Other samples wait in the ring buffer: they belong to the next window. A walk's belong to this one. */
	return window_should_close(agent) ? -EXFULL : 0;
}

int agent_fold_sample(struct agent *agent, const struct abi_sample *sample, const struct abi_frame *frames)
{
	return add_sample(agent, sample, frames);
}

int agent_on_sample(void *arg, const struct abi_sample *sample, const struct abi_frame *frames)
{
	struct agent *agent = arg;
	int r;

	r = catch_up(agent, sample->time_ns);
	if (r == 0)
		r = agent_park(agent, sample);
	if (r != 0)
		return MIN(r, 0);
	return agent_fold_sample(agent, sample, frames);
}

int agent_on_stack_copy(void *arg, const struct abi_stack_copy *copy)
{
	struct agent *agent = arg;
	uint32_t waits_for;
	int r;

	r = catch_up(agent, copy->header.time_ns);
	if (r == 0)
		r = agent_park(agent, &copy->header);
	if (r != 0)
		return MIN(r, 0);
	r = agent_fold_stack_copy(agent, copy, &waits_for);
	if (r == -EINPROGRESS)
		r = agent_park_for_table(agent, copy, waits_for);
	if (r == -ENOSPC)
		r = agent_fold_stack_copy(agent, copy, NULL);
	return r;
}

int agent_fold_stack_copy(struct agent *agent, const struct abi_stack_copy *copy, uint32_t *ret_waits_for)
{
	struct unwound_stack stack;
	struct process *process;
	int r;

	r = collector_process(agent->collector, &copy->header, &process);
	if (r < 0)
		return r;
	r = stack_copier_unwind(agent->copier, copy, process, ret_waits_for != NULL, &stack);
	if (r < 0) {
		*ret_waits_for = stack.waits_for;
		return r;
	}
	return add_sample(agent, stack.sample, stack.frames);
}

/* How many there were, or negative errno. */
int agent_read_samples(struct agent *agent)
{
	const struct bpf_record_functions functions = {
		.arg = agent,
		.sample = agent_on_sample,
		.stack_copy = agent_on_stack_copy,
	};
	int r;

	while ((r = bpf_programs_read_samples(agent->programs, &functions)) == -EXFULL) {
		r = agent_close_window(agent);
		if (r < 0)
			return r;
	}
	return r;
}
