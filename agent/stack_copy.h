/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Samples whose user stack came as a copy, because the kernel side did not know the process, or lacked unwind rows. The
 * process's mappings are published and the rows are loaded, so that its next sample is unwound in the kernel, and the
 * copy is unwound by the same code here. Used by the agent's main thread.
 */

#include "agent/mapping_publisher.h"
#include "agent/process/process_table.h"
#include "agent/unwind_publisher.h"

struct stack_copier;

/* counters[ABI_COUNTER_COUNT]: of the copies, what the programs count of the stacks that they unwind themselves. */
const uint64_t *stack_copier_counters(const struct stack_copier *copier);

/* All borrowed; @config is what the BPF programs were loaded with. */
int stack_copier_new(const struct abi_config *config, struct mapping_publisher *publisher,
		     struct unwind_publisher *tables, struct stack_copier **ret_copier);
struct stack_copier *stack_copier_free(struct stack_copier *copier);

/*
 * Unwinds @copy, a stack of @process. *ret_sample is a sample in full (its pointers are valid until the next call):
 * where it could not be followed to its end the cut says why.
 */
void stack_copier_unwind(struct stack_copier *copier, const struct abi_stack_copy *copy, struct process *process,
			 const struct abi_sample **ret_sample, const struct abi_frame **ret_frames);

DEFINE_SCOPED(struct stack_copier *, stack_copier_free);
