// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Takes the samples of ticks that would otherwise be lost. The kernel does not call a perf event's
 * program on a CPU that runs a program of a classic tracepoint or kprobe, or that changes a BPF map
 * in a system call (kernel/events/core.c, bpf_overflow_handler(): bpf_prog_active). If bpftrace
 * traces every system call, nearly every second tick is skipped. The kernel calls hearth_on_timer
 * at the end of every timer interrupt, also when it skips the perf event's program. It takes the
 * sample if the timer is that of our perf event and hearth_on_cpu_tick was not called.
 */
#include "bpf/include/tick.bpf.h"

#include <bpf/bpf_tracing.h>

struct frame_search {
	struct sample *scratch;
	__u64 pc;
	__u32 found_at;
};

static long compare_frame(__u64 index, void *argument)
{
	struct frame_search *search = argument;

	asm volatile("" : "+r"(index));
	if (index >= ABI_MAX_KERNEL_FRAMES)
		return 1;
	if (search->scratch->kernel_pcs[index] != search->pc)
		return 0;
	search->found_at = (__u32)index;
	return 1;
}

/*
 * Number of stack frames of the interrupt itself, from this program up to the interrupted function.
 * @kernel_pc: the interrupted pc, which hearth_on_cpu_tick stored in the same interrupt.
 */
static __always_inline __u32 count_irq_frames(void *context, __u64 kernel_pc)
{
	struct frame_search search = { .pc = kernel_pc };
	__u32 key = 0;
	long size;

	search.scratch = bpf_map_lookup_elem(&cpu_scratch, &key);
	if (!search.scratch)
		return 0;
	size = bpf_get_stack(context, search.scratch->kernel_pcs,
			     sizeof(search.scratch->kernel_pcs), 0);
	if (size > 0)
		for_each_index((__u32)size / sizeof(__u64), ABI_MAX_KERNEL_FRAMES, compare_frame,
			       &search);
	return search.found_at;
}

SEC("tp_btf/hrtimer_expire_exit")
int BPF_PROG(hearth_on_timer, void *hrtimer)
{
	struct tick_timer *timer;
	struct sample *sample;
	__u32 key = 0;

	timer = bpf_map_lookup_elem(&tick_timers, &key);
	if (!timer)
		return 0;
	if (timer->sampled) {
		timer->sampled = 0;
		timer->ours = (__u64)hrtimer;
		if (timer->n_irq_frames == 0 && timer->kernel_pc != 0)
			timer->n_irq_frames = count_irq_frames(ctx, timer->kernel_pc);
		return 0;
	}
	if (timer->ours != (__u64)hrtimer)
		return 0;

	count(ABI_COUNTER_TICKS_SKIPPED);
	sample = tick_begin();
	if (!sample)
		return 0;
	if (!(sample->header.flags & ABI_SAMPLE_WITHOUT_STACK)) {
		/*
		 * The kernel skips ticks only while it runs a BPF program or changes a map, so the
		 * interrupted code is the kernel's.
		 */
		unwind_kernel_without(sample, ctx, timer->n_irq_frames);
		if (!(sample->header.flags & ABI_SAMPLE_KERNEL_THREAD)) {
			registers_from_task(&sample->registers, user_registers(current_task()));
			unwind_user(sample);
		}
	}
	tick_deliver(sample);
	return 0;
}
