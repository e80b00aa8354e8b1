/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Ends of waits that are read during a walk before the stack that they refer to.
 *
 * The walk records the stack of a wait, and the wait may end before the agent has read that record.
 * The agent then reads the end of the wait from the ring buffer first, and the end has only the
 * hash of the stack. Such samples are postponed until the walk is over. To read the ring buffer
 * after the records of the walk is no alternative, because these refer to stacks in the ring
 * buffer.
 */

#include "agent/bpf_programs/bpf_programs.h"
#include "agent/sample/collector.h"
#include "common/bytes.h"

struct postponed_waits {
	const struct collector *collector;
	const struct bpf_record_functions *add;
	struct bytes samples;
};

/* @collector and @add, to which records are passed on, are borrowed. */
void postponed_waits_init(struct postponed_waits *postponed, const struct collector *collector,
			  const struct bpf_record_functions *add);
void postponed_waits_release(struct postponed_waits *postponed);

/* To be called during a walk: keep samples with an unknown stack, and pass on all other records. */
struct bpf_record_functions postponed_waits_functions(struct postponed_waits *postponed);

/* After the walk: passes on the samples that were kept. 0 or the error of @add. */
int postponed_waits_add(struct postponed_waits *postponed);
