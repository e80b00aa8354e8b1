/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) OR Apache-2.0 */
#pragma once

/*
 * One sample in the making: the record as it goes out, and what unwinding needs beside it. It lives
 * in per-CPU scratch, one slot per program type, because a tick may interrupt another program.
 */

#include "bpf/include/maps.bpf.h"
#include "bpf/include/registers.bpf.h"

/* A frame is some ten words. */
#define SAMPLE_WINDOW_WORDS 64

/* Regions of code (bpf/abi/unwind_maps.h) that a stack goes to and fro between. A power of two. */
#define SAMPLE_REGIONS 4

struct sample_region {
	__u64 key;
	__u32 directory;
};

struct sample {
	struct abi_sample header;
	struct abi_frame frames[ABI_MAX_FRAMES]; /* follows the header: both go out in one piece */
	__u32 n_frames;
	__u64 hash;
	__u64 hash_before; /* the last frame was added */

	/* unwinding */
	struct unwind_registers registers;
	__u64 window_start; /* user address of window[0] */
	__u64 window_bytes; /* 0: nothing in it */
	__u64 window[SAMPLE_WINDOW_WORDS];
	__u32 n_by_table, n_by_pointer; /* frames */
	__u32 n_rules_cached;           /* rules that were found in rule_cache */
	__u32 n_missing;                /* frames whose rows the agent has not loaded */
	__u32 missing_executable;       /* of the first of them */
	__u64 missing_address;
	bool copy_lacks_pages; /* of the copy of the stack that went to the agent */
	/* not a return address: the innermost frame, or one that a signal interrupted */
	bool pc_is_exact;
	bool innermost;
	bool fault_innermost; /* it was so at the fault */
	bool met_unmapped;    /* a pc where, as far as the maps know, no code is */
	bool without_memory;  /* there is no user stack: in exit, or in the middle of execve() */
	__u64 fault_address;  /* what could not be read, 0 none */
	struct sample_region regions[SAMPLE_REGIONS]; /* looked up last; key 0: none yet */
	struct abi_mapping mapping; /* the last one found: the next pc is often in it as well */
	__u32 process_flags;        /* enum abi_process_flags */
	__u32 set;                  /* mapping set of the process, 0 none */
	__u32 n_chunks;
	__u64 replaced_start, replaced_end; /* where the mappings are not what they were */
	__u64 kernel_pcs[ABI_MAX_KERNEL_FRAMES];
};

static __always_inline void sample_forget_regions(struct sample *sample)
{
#pragma unroll
	for (int i = 0; i < SAMPLE_REGIONS; i++)
		sample->regions[i].key = 0;
}

/* Fills the header for the current task. */
__hidden void sample_begin(struct sample *sample, __u8 event_type, __u64 value);

/* The same for another task. */
__hidden void sample_begin_task(struct sample *sample, struct task_struct *task, __u8 event_type,
				__u64 value);

/* Finds the mappings of the sample's process; counts and flags a process that is not known. */
__hidden void sample_find_process(struct sample *sample);

/* Fills header.cgroups, where the agent may not know the cgroups of the current process yet. */
__hidden void sample_note_cgroups(struct sample *sample);

__hidden void unwind_kernel(struct sample *sample, void *context);

/* The same without the @n_innermost frames, at most 255. */
__hidden void unwind_kernel_without(struct sample *sample, void *context, __u32 n_innermost);

__hidden void unwind_user(struct sample *sample);

/*
 * unwind_user() in parts, for where a loop over all frames is more than the verifier takes.
 * unwind_user_begin() returns whether there is anything to walk; each unwind_user_part() walks that
 * many frames and returns whether the stack ended; unwind_user_end() closes it.
 */
#define UNWIND_STEPS_OF_PART 16
__hidden bool unwind_user_begin(struct sample *sample);
__hidden bool unwind_user_part(struct sample *sample);
__hidden void unwind_user_end(struct sample *sample, bool ended);

/* Adds sample->kernel_pcs[first] up to [n_pcs - 1], return addresses all of them. */
__hidden void unwind_kernel_callers(struct sample *sample, __u32 first, __u32 n_pcs);

/* After STACK_CUT_READ_FAULT: goes on from the frame that could not be left. */
__hidden void unwind_user_again(struct sample *sample);

/*
 * Into the ring buffer: with a copy of the stack where the agent can unwind it and we could not,
 * else by sample_submit(). 0 or -1: did not fit.
 */
__hidden int sample_deliver(struct sample *sample);

/*
 * Into the ring buffer: in full when the stack was not seen in this window, else its hash. A
 * definition goes out in full or not at all. 0 or -1: did not fit.
 */
__hidden int sample_submit(struct sample *sample);

/*
 * A sample whose stack went out before and whose hash is in the header; with STANDS the first frame
 * is abi_wait.
 */
__hidden int sample_submit_known(struct sample *sample);

/*
 * For a stack that was cut because a page is not resident. sample_defer(), at a tick only: true
 * when the sample will be finished and submitted by its thread. sample_touch(): the agent is told
 * to read the page, for the samples to come.
 */
__hidden bool sample_defer(struct sample *sample);
__hidden void sample_touch(struct sample *sample);

/* Appends a frame; false when the record is full. */
static __always_inline bool sample_add_frame(struct sample *sample, __u32 kind, __u32 executable,
					     __u64 address)
{
	__u32 index = sample->n_frames;

	/* The verifier must see the bound on the very register that indexes. */
	asm volatile("" : "+r"(index));
	if (index >= ABI_MAX_FRAMES)
		return false;
	sample->frames[index].address = address;
	sample->frames[index].executable = executable;
	sample->frames[index].kind = kind;
	sample->n_frames = index + 1;

	/* Multiply-xorshift: cheap, and a single changed bit reaches all of the hash. */
	sample->hash_before = sample->hash;
	__u64 hash = (sample->hash ^ address ^ ((__u64)executable << 40) ^ ((__u64)kind << 60)) *
		     0x9e3779b97f4a7c15ULL;
	sample->hash = hash ^ (hash >> 29);
	if (executable == 0)
		sample->header.flags |= ABI_SAMPLE_UNRESOLVED;
	return true;
}
