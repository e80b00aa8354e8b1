/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Samples whose user stack came as a copy, because the kernel side did not know the process, or
 * lacked unwind rows. The process's mappings are published and the rows are loaded, so that its
 * next sample is unwound in the kernel, and the copy is unwound by the same code here. Used by the
 * agent's main thread.
 */

#include "agent/publish/mapping_publisher.h"
#include "agent/process/process_table.h"
#include "agent/sample/collector.h"
#include "agent/publish/unwind_publisher.h"

struct copy_unwinder;

/*
 * counters[ABI_COUNTER_COUNT]: of the copies, what the programs count of the stacks that they
 * unwind themselves.
 */
const uint64_t *copy_unwinder_counters(const struct copy_unwinder *unwinder);

/* All borrowed; @config is what the BPF programs were loaded with. */
int copy_unwinder_new(const struct abi_config *config, struct mapping_publisher *publisher,
		      struct unwind_publisher *tables, struct copy_unwinder **ret_unwinder);
struct copy_unwinder *copy_unwinder_free(struct copy_unwinder *unwinder);

struct unwound_stack {
	const struct abi_sample *sample; /* with its frames; both are valid until the next call */
	const struct abi_frame *frames;
	/* set on -EINPROGRESS: number of the executable with the table that is being made */
	uint32_t waits_for;
};

/*
 * Unwinds @copy, a stack of @process. If it cannot be unwound to its end, the sample's `cut` has
 * the reason. 0; or, with @may_wait, -EINPROGRESS: it needs an unwind table that is being made.
 */
int copy_unwinder_run(struct copy_unwinder *unwinder, const struct abi_stack_copy *copy,
		      struct process *process, bool may_wait, struct unwound_stack *ret_stack);

/*
 * The stack that was unwound last is of a wait that began with the stack @began, which was cut: it
 * gets the kernel's frames of @began. If it is cut as well, and has no more frames of user code, it
 * becomes @began.
 */
void copy_unwinder_join(struct copy_unwinder *unwinder, const struct collector_stack *began);

DEFINE_SCOPED(struct copy_unwinder *, copy_unwinder_free);
