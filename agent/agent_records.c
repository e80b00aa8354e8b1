/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Processes samples and process events in the order of their times, because the addresses of a
 * sample must be looked up in the mappings that its process had at that moment. Before a sample is
 * processed, all older process events are applied; the rings of events are read again whenever a
 * sample is younger than the last reading.
 */
#include "agent/agent_internal.h"

/* During a drain the clock is read once in so many samples, to close the window in time. */
#define SAMPLES_PER_LOOK_AT_CLOCK 256

static int apply_event(struct agent *agent, const struct process_event *event)
{
	int r;

	if (event->type == KERNEL_CODE_MADE || event->type == KERNEL_CODE_FREED)
		return frame_resolver_note_code(agent->frames, event->start,
						event->type == KERNEL_CODE_MADE ? event->path
										: NULL);
	r = agent_park_event(agent, event);

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

/* Applies all process events before @time_ns. */
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
	uint64_t closes_ns = agent->window_opened_ns +
			     MAX(agent->config->batch_interval_ns, agent->server_interval_ns);

	return agent_has_parked(agent) ? closes_ns + AGENT_PARKED_MAX_NS : closes_ns;
}

/*
 * Also asked in the middle of a drain: on a host where drains never catch up no window would be
 * sent otherwise.
 */
static bool window_should_close(struct agent *agent)
{
	if (agent->is_walking)
		return false;
	if (collector_is_full(agent->collector))
		return true;
	return ++agent->n_added % SAMPLES_PER_LOOK_AT_CLOCK == 0 &&
	       clock_monotonic_ns(agent->clock) >=
		       agent_window_closes_ns(agent) + AGENT_DRAIN_INTERVAL_NS;
}

static int add_sample(struct agent *agent, const struct abi_sample *sample,
		      const struct abi_frame *frames)
{
	int r;

	r = collector_add(agent->collector, sample, frames);
	if (r < 0)
		return r;
	/*
	 * The samples that are still in the ring buffer belong to the next window. All those of a
	 * walk belong to this one.
	 */
	return window_should_close(agent) ? -EXFULL : 0;
}

int agent_fold_sample(struct agent *agent, const struct abi_sample *sample,
		      const struct abi_frame *frames)
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
	if (r == 0)
		r = agent_put_off(agent, sample);
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

/* A stack of a wait that was cut as it began, and was copied while the wait went on. */
static void join_with_began(struct agent *agent, uint64_t began_hash)
{
	struct collector_stack began;

	if (began_hash != 0 && collector_find_stack(agent->collector, began_hash, &began))
		copy_unwinder_join(agent->copy_unwinder, &began);
}

int agent_fold_stack_copy(struct agent *agent, const struct abi_stack_copy *copy,
			  uint32_t *ret_waits_for)
{
	struct unwound_stack stack;
	struct process *process;
	int r;

	r = collector_process(agent->collector, &copy->header, &process);
	if (r < 0)
		return r;
	r = copy_unwinder_run(agent->copy_unwinder, copy, process, ret_waits_for != NULL, &stack);
	if (r < 0) {
		*ret_waits_for = stack.waits_for;
		return r;
	}
	join_with_began(agent, copy->began_hash);
	return add_sample(agent, stack.sample, stack.frames);
}

/* Returns the number of samples, or negative errno. */
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
