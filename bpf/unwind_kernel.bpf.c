// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Kernel stacks. The kernel's own unwinder returns the pcs; this code converts them to (executable,
 * address). In the kernel image the address is pc - _text. Elsewhere (modules, BPF programs) the
 * executable is 0, and the address is the raw pc, which the agent looks up.
 */
#include "bpf/include/sample.bpf.h"

#include "common/frame.h"

struct kernel_walk {
	struct sample *sample;
	__u32 first;
	bool first_is_exact; /* the first pc is not a return address */
};

static long add_kernel_frame(__u64 index, void *argument)
{
	struct kernel_walk *walk = argument;
	struct sample *sample = walk->sample;
	__u64 pc;

	/* A return address points after the call: subtract 1 to get an address in the call. */
	bool is_exact = walk->first_is_exact && index == 0;

	index += walk->first;
	asm volatile("" : "+r"(index));
	if (index >= ABI_MAX_KERNEL_FRAMES)
		return 1;
	pc = sample->kernel_pcs[index] - (is_exact ? 0 : 1);
	if (pc >= config.kernel_text_start && pc < config.kernel_text_end)
		return !sample_add_frame(sample, FRAME_KERNEL, config.kernel_executable,
					 pc - config.kernel_text_start);
	return !sample_add_frame(sample, FRAME_KERNEL, 0, pc);
}

__hidden void unwind_kernel_without(struct sample *sample, void *context, __u32 n_innermost)
{
	struct kernel_walk walk = { .sample = sample, .first_is_exact = true };
	long size = bpf_get_stack(context, sample->kernel_pcs, sizeof(sample->kernel_pcs),
				  n_innermost & BPF_F_SKIP_FIELD_MASK);

	if (size < 0) {
		count(ABI_COUNTER_KERNEL_STACK_ERROR);
		return;
	}
	for_each_index((__u32)size / sizeof(__u64), ABI_MAX_KERNEL_FRAMES, add_kernel_frame, &walk);
	sample->header.n_kernel_frames = sample->n_frames;
}

__hidden void unwind_kernel_callers(struct sample *sample, __u32 first, __u32 n_pcs)
{
	struct kernel_walk walk = { .sample = sample, .first = first };

	if (first < n_pcs)
		for_each_index(n_pcs - first, ABI_MAX_KERNEL_FRAMES, add_kernel_frame, &walk);
	sample->header.n_kernel_frames = sample->n_frames;
}

__hidden void unwind_kernel(struct sample *sample, void *context)
{
	unwind_kernel_without(sample, context, 0);
}
