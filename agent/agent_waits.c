/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Adds the waits that a walk finds to the open window.
 *
 * The walk records the stack of a wait, and the wait may end before the agent has read that record.
 * The agent then reads the end of the wait from the ring buffer first, and the end has only the
 * hash of the stack. Such samples are postponed until the walk is over. To read the ring buffer
 * after the records of the walk is no alternative, because these refer to stacks in the ring
 * buffer.
 */
#include "agent/agent_internal.h"
#include "common/log.h"

static int process_postponed(struct agent *agent)
{
	size_t offset = 0;
	int r = 0;

	while (offset < agent->postponed.size && r >= 0) {
		const struct abi_sample *sample =
			(const struct abi_sample *)(agent->postponed.data + offset);

		r = agent_on_sample(agent, sample, (const struct abi_frame *)(sample + 1));
		offset += agent_record_size(sample);
	}
	bytes_clear(&agent->postponed);
	return r;
}

/* Records of the walk may refer to stacks that are still in the ring buffer. */
static int read_samples(void *arg)
{
	return agent_read_all_samples(arg);
}

int agent_walk_waits(struct agent *agent, bool reports)
{
	const struct off_cpu_reader reader = {
		.before_records = read_samples,
		.functions = { .arg = agent,
			       .sample = agent_on_sample,
			       .stack_copy = agent_on_stack_copy },
	};
	int r;

	if (!agent->off_cpu)
		return 0;
	assert(!agent->is_walking);
	agent->walked_ns = clock_monotonic_ns(agent->clock);
	agent->is_walking = true;
	r = off_cpu_walk(agent->off_cpu, reports, &reader);
	agent->is_walking = false;
	if (r == -ENOMEM)
		return r;
	if (r < 0)
		log_warn_errno(
			r,
			"cannot walk over the threads that wait, their time is reported later: %m");
	/* Also after a failure: these samples have been taken from the ring buffer. */
	return process_postponed(agent);
}
