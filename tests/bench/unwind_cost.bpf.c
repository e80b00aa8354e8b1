// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Measures how long the agent's unwinder takes for the user stack of the calling thread, in a loop.
 * For comparison, measure_fp_walk() measures the kernel's walk along frame pointers
 * (bpf_get_stack).
 */
#include "bpf/include/sample.bpf.h"

#include "common/event_type.h"
#include "tests/bench/unwind_cost_record.h"

struct unwind_cost cost = {};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct sample);
} cost_scratch SEC(".maps");

static long unwind_once(__u64 index, void *argument)
{
	struct sample *sample = *(struct sample **)argument;

	sample_begin(sample, EVENT_ON_CPU, 1);
	sample_find_process(sample);
	registers_from_task(&sample->registers,
			    (struct pt_regs *)bpf_task_pt_regs(bpf_get_current_task_btf()));
	unwind_user(sample);
	return 0;
}

SEC("raw_tp")
int measure_unwind(void *context)
{
	__u32 key = 0;
	struct sample *sample = bpf_map_lookup_elem(&cost_scratch, &key);
	__u64 began_ns;

	if (!sample)
		return 1;
	began_ns = bpf_ktime_get_ns();
	bpf_loop(cost.rounds, unwind_once, &sample, 0);
	cost.ns = bpf_ktime_get_ns() - began_ns;
	cost.n_frames = sample->n_frames;
	cost.cut = sample->header.cut;
	cost.n_missing = sample->n_missing;
	cost.missing_executable = sample->missing_executable;
	cost.missing_address = sample->missing_address;
	return 0;
}

struct walk {
	void *context;
	struct sample *sample;
};

static long walk_once(__u64 index, void *argument)
{
	struct walk *walk = argument;

	cost.fp_walk_bytes = bpf_get_stack(walk->context, walk->sample->kernel_pcs,
					   sizeof(walk->sample->kernel_pcs), BPF_F_USER_STACK);
	return 0;
}

SEC("raw_tp")
int measure_fp_walk(void *context)
{
	__u32 key = 0;
	struct walk walk = { .context = context,
			     .sample = bpf_map_lookup_elem(&cost_scratch, &key) };
	__u64 began_ns;

	if (!walk.sample)
		return 1;
	began_ns = bpf_ktime_get_ns();
	bpf_loop(cost.rounds, walk_once, &walk, 0);
	cost.ns = bpf_ktime_get_ns() - began_ns;
	return 0;
}
