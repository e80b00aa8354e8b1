// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * User stacks of native code, one frame per step of one bpf_loop:
 *
 *   find the mapping of the pc  ->  frame (executable, ELF address)  ->  caller's registers  ->  next step
 *
 * caller_registers() is where rules for a pc are applied: the frame pointer chain, checked. A frame pointer must be
 * aligned and above the stack pointer and the one before, and a return address must lie in executable memory: code
 * that uses the register for something else ends the stack with a reason instead of inventing frames.
 */
#include "bpf/include/sample.bpf.h"

#include "common/frame.h"

/* Index of the last chunk whose first pc is <= @pc; ABI_MAX_CHUNKS when there is none. */
static __always_inline __u32 chunk_of(const struct sample *sample, __u64 pc)
{
	__u32 low = 0;
	__u32 high = sample->n_chunks;

#pragma unroll
	for (int step = 0; step < 6; step++) {
		__u32 middle = (low + high) / 2;

		if (low >= high)
			break;
		if (sample->chunk_start[middle & (ABI_MAX_CHUNKS - 1)] <= pc)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? low - 1 : ABI_MAX_CHUNKS;
}

/* Copies the mapping that holds @pc into sample->mapping. */
static __always_inline bool find_mapping(struct sample *sample, __u64 pc)
{
	struct abi_chunk_key key = { .set = sample->set };
	struct abi_mapping_chunk *chunk;
	__u32 low = 0;
	__u32 high;

	if (pc >= sample->mapping.start && pc < sample->mapping.end)
		return true;
	key.index = chunk_of(sample, pc);
	if (!key.set || key.index >= ABI_MAX_CHUNKS)
		return false;
	chunk = bpf_map_lookup_elem(&mapping_chunks, &key);
	if (!chunk || chunk->set != key.set)
		return false;

	high = chunk->n_mappings;
#pragma unroll
	for (int step = 0; step < 6; step++) {
		__u32 middle = (low + high) / 2;

		if (low >= high || middle >= ABI_MAPPINGS_PER_CHUNK)
			break;
		if (chunk->mappings[middle].start <= pc)
			low = middle + 1;
		else
			high = middle;
	}
	low--; /* wraps to a huge value when there is none */
	asm volatile("" : "+r"(low));
	if (low >= ABI_MAPPINGS_PER_CHUNK || pc >= chunk->mappings[low].end)
		return false;
	sample->mapping = chunk->mappings[low];
	/* The element may have been given to another set while we read. */
	asm volatile("" ::: "memory");
	if (chunk->set != key.set) {
		sample->mapping.end = 0;
		return false;
	}
	return true;
}

static __always_inline long cut(struct sample *sample, __u8 reason, enum abi_counter counter)
{
	sample->header.cut = reason;
	count(counter);
	return 1;
}

/* Replaces sample->registers by the caller's. 0 go on, 1 the stack ended or was cut. */
static __always_inline long caller_registers(struct sample *sample)
{
	struct unwind_registers *registers = &sample->registers;
	__u64 link[2]; /* caller's frame pointer, return address */

	if (registers->fp == 0)
		return 1; /* the outermost frame: the ABI has it cleared there (psABI x86-64 §3.4.1) */
	if (registers->fp & 7 || registers->fp < registers->sp)
		return cut(sample, STACK_CUT_BAD_FRAME, ABI_COUNTER_CUT_BAD_FRAME);
	if (bpf_probe_read_user(link, sizeof(link), (void *)registers->fp))
		return cut(sample, STACK_CUT_READ_FAULT, ABI_COUNTER_CUT_READ_FAULT);
	if (link[1] == 0)
		return 1;
	registers->sp = registers->fp + sizeof(link);
	registers->pc = link[1];
	registers->fp = link[0];
	return 0;
}

static long unwind_step(__u64 index, void *argument)
{
	struct sample *sample = *(struct sample **)argument;
	/* A return address lies after its call: look up the byte before. */
	__u64 pc = sample->registers.pc - (index > 0);
	bool added;

	if (find_mapping(sample, pc)) {
		bool known = sample->mapping.executable != 0;

		added = sample_add_frame(sample, sample->mapping.kind, sample->mapping.executable,
					 known ? pc - sample->mapping.bias : pc);
	} else if (sample->set == 0 || index == 0) {
		/* Unknown process: the agent looks the pcs up. A leaf outside all mappings is told as it is. */
		added = sample_add_frame(sample, FRAME_NATIVE, 0, pc);
	} else {
		return cut(sample, STACK_CUT_NO_MAPPING, ABI_COUNTER_CUT_NO_MAPPING);
	}
	if (!added)
		return cut(sample, STACK_CUT_DEPTH, ABI_COUNTER_CUT_DEPTH);
	return caller_registers(sample);
}

__hidden void unwind_user(struct sample *sample)
{
	long steps;

	if (sample->registers.pc == 0)
		return;
	steps = bpf_loop(ABI_MAX_USER_FRAMES + 1, unwind_step, &sample, 0);
	if (steps > ABI_MAX_USER_FRAMES)
		cut(sample, STACK_CUT_DEPTH, ABI_COUNTER_CUT_DEPTH);
	sample->header.n_user_frames = sample->n_frames - sample->header.n_kernel_frames;
}
