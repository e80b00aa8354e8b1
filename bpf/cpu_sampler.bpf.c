// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * On-CPU sampling: one tick of a CPU's timer.
 */
#include "bpf/include/sample.bpf.h"

#include "common/event_type.h"
#include "common/frame.h"

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct sample);
} cpu_scratch SEC(".maps");

SEC("perf_event")
int hearth_on_cpu_tick(struct bpf_perf_event_data *context)
{
	__u32 key = 0;
	struct sample *sample;

	if ((__u32)bpf_get_current_pid_tgid() == 0) {
		count(ABI_COUNTER_TICKS_IDLE);
		return 0;
	}
	sample = bpf_map_lookup_elem(&cpu_scratch, &key);
	if (!sample) {
		count(ABI_COUNTER_TICKS_FAILED);
		return 0;
	}

	sample_begin(sample, EVENT_ON_CPU, 1);
	sample_find_process(sample);
	if (!(sample->header.flags & ABI_SAMPLE_WITHOUT_STACK)) {
		bool user_mode = in_user_mode(context);

		if (!user_mode)
			unwind_kernel(sample, context);
		if (!(sample->header.flags & ABI_SAMPLE_KERNEL_THREAD)) {
			if (user_mode) {
				registers_from_context(&sample->registers, context);
			} else {
				struct pt_regs *registers =
					(struct pt_regs *)bpf_task_pt_regs(bpf_get_current_task_btf());

				registers_from_task(&sample->registers, registers);
			}
			unwind_user(sample);
		}
	}
	if (sample_deliver(sample))
		count(ABI_COUNTER_TICKS_RING_FULL);
	else
		count(ABI_COUNTER_TICKS_SAMPLED);
	return 0;
}
