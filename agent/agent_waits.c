/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Adds the waits that a walk finds to the open window.
 *
 * The walk takes the stack of a wait, and the wait may end before the agent has read the walk's
 * record. The end of the wait is then read from the ring buffer first, and has only the hash of the
 * stack. Such samples are put off until the walk is over. The ring buffer cannot be read after the
 * walk's records instead, because these refer to stacks in the ring buffer.
 */
#include "agent/agent_internal.h"
#include "common/log.h"

/* Room for samples that are put off, several thousand. More are counted without their stack. */
#define PUT_OFF_MAX_BYTES MIB

static_assert(sizeof(struct abi_sample) % 8 == 0 && sizeof(struct abi_wait) % 8 == 0,
	      "put off one after the other");

static size_t size_of(const struct abi_sample *sample)
{
	return sizeof(*sample) + (sample->flags & ABI_SAMPLE_STANDS ? sizeof(struct abi_wait) : 0);
}

int agent_put_off(struct agent *agent, const struct abi_sample *sample)
{
	const uint8_t needs_no_hash =
		ABI_SAMPLE_FULL | ABI_SAMPLE_COPIED | ABI_SAMPLE_WITHOUT_STACK;
	int r;

	if (!agent->puts_off || sample->event_type != EVENT_OFF_CPU ||
	    sample->flags & needs_no_hash ||
	    collector_knows_stack(agent->collector, sample->stack_hash) ||
	    agent->put_off.size + size_of(sample) > PUT_OFF_MAX_BYTES)
		return 0;
	agent->put_off.ceiling = PUT_OFF_MAX_BYTES;
	r = bytes_append(&agent->put_off, sample, size_of(sample));
	return r < 0 ? r : 1;
}

static int process_put_off(struct agent *agent)
{
	size_t offset = 0;
	int r = 0;

	while (offset < agent->put_off.size && r >= 0) {
		const struct abi_sample *sample =
			(const struct abi_sample *)(agent->put_off.data + offset);

		r = agent_on_sample(agent, sample, (const struct abi_frame *)(sample + 1));
		offset += size_of(sample);
	}
	bytes_clear(&agent->put_off);
	return r;
}

/* A stack taken a moment ago is in the ring buffer still. */
static int read_samples(void *arg)
{
	return MIN(agent_read_samples(arg), 0);
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
	agent->walked_ns = clock_monotonic_ns(agent->clock);
	agent->is_walking = agent->puts_off = true;
	r = off_cpu_walk(agent->off_cpu, reports, &reader);
	agent->puts_off = false;
	if (r < 0 && r != -ENOMEM) {
		log_warn_errno(
			r,
			"cannot look at the threads that wait, their time is reported later: %m");
		r = 0;
	}
	if (r == 0)
		r = process_put_off(agent);
	agent->is_walking = false;
	return r;
}
