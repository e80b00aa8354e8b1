// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * On-CPU sampling: the program that a perf event calls at each tick of a CPU's timer.
 */
#include "bpf/include/tick.bpf.h"

#include "common/frame.h"

struct cpu_scratch_map cpu_scratch SEC(".maps");
struct tick_timers_map tick_timers SEC(".maps");

/* Records for hearth_on_timer (skipped_ticks.bpf.c) that the kernel called the program. */
static __always_inline void note_timer(struct bpf_perf_event_data *context)
{
	__u32 key = 0;
	struct tick_timer *timer = bpf_map_lookup_elem(&tick_timers, &key);

	if (!timer)
		return;
	timer->sampled = 1;
	timer->kernel_pc = in_user_mode(context) ? 0 : context_read(context, registers_pc_field);
}

/*
 * The tail call target that walks UNWIND_STEPS_OF_PART more frames. Only the variant without
 * bpf_loop() uses it.
 */
struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(__u32));
} unwind_parts SEC(".maps");

static __always_inline int finish_tick(struct sample *sample)
{
	if (sample->header.cut == STACK_CUT_READ_FAULT) {
		if (sample_defer(sample)) {
			count(ABI_COUNTER_TICKS_SAMPLED);
			count_many(ABI_COUNTER_TICKS_NS,
				   bpf_ktime_get_ns() - sample->header.time_ns);
			return 0;
		}
		sample_touch(sample);
	}
	tick_deliver(sample);
	count_many(ABI_COUNTER_TICKS_NS, bpf_ktime_get_ns() - sample->header.time_ns);
	return 0;
}

/*
 * Without bpf_loop() (before 5.17) the verifier checks each frame of a loop separately, which
 * limits how many frames one program can walk. Tail calls walk the rest. The kernel allows 33 of
 * them: 528 frames.
 */
SEC("perf_event")
int hearth_unwind_part(struct bpf_perf_event_data *context)
{
	__u32 key = 0;
	struct sample *sample = bpf_map_lookup_elem(&cpu_scratch, &key);
	bool ended;

	if (!sample) {
		count(ABI_COUNTER_TICKS_FAILED);
		return 0;
	}
	ended = unwind_user_part(sample);
	if (!ended)
		bpf_tail_call(context, &unwind_parts, 0);
	/* The program gets here if the stack ended, or if no tail call is left. */
	unwind_user_end(sample, ended);
	return finish_tick(sample);
}

SEC("perf_event")
int hearth_on_cpu_tick(struct bpf_perf_event_data *context)
{
	struct sample *sample;

	note_timer(context);
	sample = tick_begin();
	if (!sample)
		return 0;
	if (!(sample->header.flags & ABI_SAMPLE_WITHOUT_STACK)) {
		bool user_mode = in_user_mode(context);

		if (!user_mode)
			unwind_kernel(sample, context);
		if (!(sample->header.flags & ABI_SAMPLE_KERNEL_THREAD)) {
			if (user_mode)
				registers_from_context(&sample->registers, context);
			else
				registers_from_task(&sample->registers,
						    user_registers(current_task()));
#if defined(HEARTH_BPF_KERNEL_5)
			if (unwind_user_begin(sample)) {
				bpf_tail_call(context, &unwind_parts, 0);
				unwind_user_end(sample, false);
			}
#else
			unwind_user(sample);
#endif
		}
	}
	return finish_tick(sample);
}
