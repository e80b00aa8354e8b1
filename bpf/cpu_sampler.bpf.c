// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * On-CPU sampling: one tick of a CPU's timer.
 */
#include "bpf/include/tick.bpf.h"

#include "common/event_type.h"
#include "common/frame.h"

struct cpu_scratch_map cpu_scratch SEC(".maps");
struct tick_timers_map tick_timers SEC(".maps");

static __always_inline void tell_timer(struct bpf_perf_event_data *context)
{
	__u32 key = 0;
	struct tick_timer *timer = bpf_map_lookup_elem(&tick_timers, &key);

	if (!timer)
		return;
	timer->sampled = 1;
	timer->kernel_pc = in_user_mode(context) ? 0 : context_read(context, registers_pc_field);
}

SEC("perf_event")
int hearth_on_cpu_tick(struct bpf_perf_event_data *context)
{
	__u32 key = 0;
	struct sample *sample;

	tell_timer(context);
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
	if (sample->header.cut == STACK_CUT_READ_FAULT) {
		if (sample_defer(sample)) {
			count(ABI_COUNTER_TICKS_SAMPLED);
			return 0;
		}
		sample_touch(sample);
	}
	if (sample_deliver(sample))
		count(ABI_COUNTER_TICKS_RING_FULL);
	else
		count(ABI_COUNTER_TICKS_SAMPLED);
	return 0;
}
