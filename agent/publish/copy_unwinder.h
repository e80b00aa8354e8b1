/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Unwinds stacks that the kernel sent as a copy, because it did not know the process or lacked
 * unwind rows. Has the mappings of the process identified and the missing rows loaded, so that the
 * next sample of the process is unwound in the kernel. Runs the same code as the kernel, compiled
 * for the host (bpf/host/).
 *
 * Used by the agent's main thread.
 */

#include "agent/publish/mapping_publisher.h"
#include "agent/process/process_table.h"
#include "agent/sample/collector.h"
#include "agent/publish/unwind_publisher.h"

struct copy_unwinder;

/*
 * counters[ABI_COUNTER_COUNT]: for the copies, the counters that the BPF programs keep for the
 * stacks that they unwind.
 */
const uint64_t *copy_unwinder_counters(const struct copy_unwinder *unwinder);

struct copy_unwinder_options {
	const struct abi_config *config; /* of the loaded BPF programs */
	struct mapping_publisher *publisher;
	struct unwind_publisher *tables;
	const struct collector *collector; /* knows which processes the sources exclude */
};

/* All pointers of @options are borrowed. */
int copy_unwinder_new(const struct copy_unwinder_options *options,
		      struct copy_unwinder **ret_unwinder);
struct copy_unwinder *copy_unwinder_free(struct copy_unwinder *unwinder);

struct unwound_stack {
	/* Both are valid until the next call. */
	const struct abi_sample *sample;
	const struct abi_frame *frames;
	/* set on -EINPROGRESS: number of the executable with the table that is being made */
	uint32_t waits_for;
};

/*
 * Unwinds @copy, a stack of @process. If it cannot be unwound to its end, the sample's `cut` has
 * the reason. 0; or, only with @may_wait, -EINPROGRESS: it needs an unwind table that is being
 * made.
 */
int copy_unwinder_run(struct copy_unwinder *unwinder, const struct abi_stack_copy *copy,
		      struct process *process, bool may_wait, struct unwound_stack *ret_stack);

/*
 * Joins the stack that was unwound last with @began. Both are stacks of one wait: @began was taken
 * when the wait began, and is cut. The last stack gets the kernel frames of @began. If it is cut
 * as well and has no more user frames than @began, it also gets the user frames of @began.
 */
void copy_unwinder_join(struct copy_unwinder *unwinder, const struct collector_stack *began);

DEFINE_SCOPED(struct copy_unwinder *, copy_unwinder_free);
