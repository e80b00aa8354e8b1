/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Processes samples and process events in the order of their times, because the addresses of a
 * sample must be looked up in the mappings that its process had at that moment. Before a sample is
 * processed, all older process events are applied. If the sample was taken after the last reading
 * of the rings of events, these rings are read first.
 */
#include "agent/agent_internal.h"

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

/* Applies all process events up to @time_ns. */
static int catch_up(struct agent *agent, uint64_t time_ns)
{
	if (time_ns > agent->events_read_ns) {
		int r = agent_read_events(agent);

		if (r < 0)
			return r;
	}
	return agent_apply_events_until(agent, time_ns);
}

int agent_on_sample(void *arg, const struct abi_sample *sample, const struct abi_frame *frames)
{
	struct agent *agent = arg;
	int r;

	r = catch_up(agent, sample->time_ns);
	if (r < 0)
		return r;
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
	if (r < 0)
		return r;
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

/* -EXFULL ends the reading of the ring buffer after the record that filled the window. */
static int stop_if_full(const struct agent *agent)
{
	return agent->window_is_full ? -EXFULL : 0;
}

static int on_sample_until_full(void *arg, const struct abi_sample *sample,
				const struct abi_frame *frames)
{
	int r = agent_on_sample(arg, sample, frames);

	return r < 0 ? r : stop_if_full(arg);
}

static int on_stack_copy_until_full(void *arg, const struct abi_stack_copy *copy)
{
	int r = agent_on_stack_copy(arg, copy);

	return r < 0 ? r : stop_if_full(arg);
}

int agent_read_samples(struct agent *agent)
{
	const struct bpf_record_functions functions = {
		.arg = agent,
		.sample = on_sample_until_full,
		.stack_copy = on_stack_copy_until_full,
	};
	int r = bpf_programs_read_samples(agent->programs, &functions);

	return r == -EXFULL ? 0 : r;
}

int agent_read_all_samples(void *arg, const struct bpf_record_functions *functions)
{
	struct agent *agent = arg;

	return MIN(bpf_programs_read_samples(agent->programs, functions), 0);
}
