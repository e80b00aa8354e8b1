/* SPDX-License-Identifier: Apache-2.0 */
/* Adds samples to the open window, and decides when the window should be closed. */
#include <stddef.h>

#include "agent/agent_internal.h"

/*
 * How often the clock is compared with the end of the window while samples are added. On a host
 * where a drain never reaches the end of the ring, no window would be sent otherwise.
 */
#define SAMPLES_PER_LOOK_AT_CLOCK 256

uint64_t agent_window_closes_ns(const struct agent *agent)
{
	uint64_t closes_ns = agent->window_opened_ns +
			     MAX(agent->config->batch_interval_ns, agent->server_interval_ns);

	if (agent_has_parked(agent))
		closes_ns += AGENT_PARKED_MAX_NS;
	if (agent->names_begun_ns != 0 && jit_names_is_busy(agent->jit_names))
		closes_ns = MAX(closes_ns, agent->names_begun_ns + AGENT_NAMES_MAX_NS);
	return closes_ns;
}

static bool should_close(struct agent *agent)
{
	if (collector_is_full(agent->collector))
		return true;
	return ++agent->n_added % SAMPLES_PER_LOOK_AT_CLOCK == 0 &&
	       clock_monotonic_ns(agent->clock) >=
		       agent_window_closes_ns(agent) + AGENT_DRAIN_INTERVAL_NS;
}

int agent_fold_sample(struct agent *agent, const struct abi_sample *sample,
		      const struct abi_frame *frames)
{
	int r = collector_add(agent->collector, sample, frames);

	if (r < 0)
		return r;
	if (should_close(agent))
		agent->window_is_full = true;
	return 0;
}

/*
 * The stack of a wait may have been cut when the wait began, and copied later while the thread
 * still waited. Then this joins the frames of the cut stack with those of the copy.
 */
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
	return agent_fold_sample(agent, stack.sample, stack.frames);
}

size_t agent_record_size(const struct abi_sample *sample)
{
	size_t n_frames = (size_t)sample->n_kernel_frames + sample->n_user_frames;

	if (sample->flags & ABI_SAMPLE_COPIED)
		return offsetof(struct abi_stack_copy, stack) +
		       ((const struct abi_stack_copy *)(const void *)sample)->stack_bytes;
	if (sample->flags & ABI_SAMPLE_WITH_WAIT)
		return sizeof(*sample) + sizeof(struct abi_wait);
	if (sample->flags & ABI_SAMPLE_FULL)
		return sizeof(*sample) + n_frames * sizeof(struct abi_frame);
	return sizeof(*sample);
}
