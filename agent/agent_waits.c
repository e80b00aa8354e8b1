/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads that wait, into the open window.
 */
#include "agent/agent_internal.h"
#include "common/log.h"

/* A stack taken a moment ago is in the ring buffer still. */
static int read_samples(void *arg)
{
	return MIN(agent_read_samples(arg), 0);
}

int agent_walk_waits(struct agent *agent, bool reports)
{
	const struct off_cpu_reader reader = {
		.before_records = read_samples,
		.functions = { .arg = agent, .sample = agent_on_sample, .stack_copy = agent_on_stack_copy },
	};
	int r;

	if (!agent->off_cpu)
		return 0;
	agent->walked_ns = clock_monotonic_ns(agent->clock);
	agent->is_walking = true;
	r = off_cpu_walk(agent->off_cpu, reports, &reader);
	agent->is_walking = false;
	if (r == -ENOMEM)
		return r;
	if (r < 0)
		log_warn_errno(r, "cannot look at the threads that wait, their time is told later: %m");
	return 0;
}
