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

struct tick_clock {
	__u64 first_ns;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct tick_clock);
} tick_clocks SEC(".maps");

/*
 * The timer stays on a grid of whole periods whatever it misses, so the number of the period a tick falls into says
 * how many were due. Half a period of tolerance: ticks come late, never early.
 */
static __always_inline void count_expected(__u64 now_ns)
{
	__u32 key = 0;
	struct tick_clock *clock = bpf_map_lookup_elem(&tick_clocks, &key);
	__u32 expected_key = ABI_COUNTER_TICKS_EXPECTED;
	__u64 *expected = bpf_map_lookup_elem(&counters, &expected_key);

	if (!clock || !expected || config.period_ns == 0)
		return;
	if (clock->first_ns == 0)
		clock->first_ns = now_ns;
	*expected = (now_ns - clock->first_ns + config.period_ns / 2) / config.period_ns + 1;
}

SEC("perf_event")
int hearth_on_cpu_tick(struct bpf_perf_event_data *context)
{
	__u32 key = 0;
	struct sample *sample;

	count_expected(bpf_ktime_get_ns());
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
	if (sample_submit(sample))
		count(ABI_COUNTER_TICKS_RING_FULL);
	else
		count(ABI_COUNTER_TICKS_SAMPLED);
	return 0;
}
