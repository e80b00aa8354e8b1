/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) OR Apache-2.0 */
#pragma once

/*
 * State and code that the two programs of the on-CPU timer share: hearth_on_cpu_tick, which the
 * perf event calls, and hearth_on_timer, which takes the ticks at which the kernel does not call
 * it. The state is per CPU.
 */

#include "bpf/include/sample.bpf.h"
#include "common/event_type.h"

/* Both programs run in the timer's interrupt, one after the other, so one slot is enough. */
struct cpu_scratch_map {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct sample);
};

struct tick_timer {
	/*
	 * address of the timer in whose interrupt hearth_on_cpu_tick runs; compared, never
	 * dereferenced
	 */
	__u64 ours;
	/* pc at which the last interrupt found the kernel, 0 if it found user mode */
	__u64 kernel_pc;
	/* kernel frames from hearth_on_timer to the interrupted code; 0: not known yet */
	__u32 n_irq_frames;
	__u32 sampled; /* hearth_on_cpu_tick ran in this interrupt */
};

struct tick_timers_map {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct tick_timer);
};

extern struct cpu_scratch_map cpu_scratch SEC(".maps");
extern struct tick_timers_map tick_timers SEC(".maps");

/* Begins the sample of a tick. Returns NULL if the CPU is idle or on failure, which is counted. */
static __always_inline struct sample *tick_begin(void)
{
	struct sample *sample;
	__u32 key = 0;

	if ((__u32)bpf_get_current_pid_tgid() == 0) {
		count(ABI_COUNTER_TICKS_IDLE);
		return NULL;
	}
	sample = bpf_map_lookup_elem(&cpu_scratch, &key);
	if (!sample) {
		count(ABI_COUNTER_TICKS_FAILED);
		return NULL;
	}
	sample_begin(sample, EVENT_ON_CPU, 1);
	sample_find_process(sample);
	sample_note_cgroups(sample);
	return sample;
}

static __always_inline void tick_deliver(struct sample *sample)
{
	if (sample_deliver(sample))
		count(ABI_COUNTER_TICKS_RING_FULL);
	else
		count(ABI_COUNTER_TICKS_SAMPLED);
}
