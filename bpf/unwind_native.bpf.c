// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * User stacks of native code. bpf_loop() calls a function that walks two frames:
 *
 *   mapping of the pc -> frame (executable, ELF address) -> caller's registers -> next step
 *
 * The row of the executable's unwind table gives the caller's registers. If there is no row, or its
 * rule is not supported, the frame pointer chain does, with checks: a frame pointer must be aligned
 * and above the stack pointer and the previous one, and a return address must be in executable
 * memory. If code uses the frame pointer register for another purpose, these checks fail and the
 * stack ends with a reason, without wrong frames.
 */
#include "bpf/include/chunk_search.bpf.h"
#include "bpf/include/unwind_step.bpf.h"

#include "common/frame.h"

enum mapping_found {
	MAPPING_FOUND,
	MAPPING_NONE,    /* no executable mapping contains the pc */
	MAPPING_UNKNOWN, /* the process's mappings are not in the maps, or no longer */
};

/* Copies the mapping that contains @pc to sample->mapping. */
static __always_inline enum mapping_found find_mapping(struct sample *sample, __u64 pc)
{
	struct abi_chunk_key key = { .set = sample->set };
	struct abi_mapping *mapping = &sample->mapping;
	struct abi_mapping_chunk *chunk;
	__u64 read;
	__u32 at;

	if (pc < sample->replaced_end && pc >= sample->replaced_start) {
		*mapping = (struct abi_mapping){ .kind = FRAME_NATIVE };
		return MAPPING_FOUND;
	}
	if (pc >= mapping->start && pc < mapping->end)
		return MAPPING_FOUND;
	if (!key.set)
		return MAPPING_UNKNOWN;
	key.index = find_chunk(key.set, sample->n_chunks, pc);
	if (key.index >= ABI_MAX_CHUNKS)
		return MAPPING_UNKNOWN;
	chunk = bpf_map_lookup_elem(&mapping_chunks, &key);
	if (!chunk)
		return MAPPING_UNKNOWN;

	at = search_chunk(chunk, pc, &read);
	if (at < ABI_MAPPINGS_PER_CHUNK)
		read ^= copy_words(mapping, &chunk->mappings[at], sizeof(*mapping) / sizeof(word));
	else
		mapping->end = 0;
	key.index += read_before(read);
	if (bpf_map_lookup_elem(&mapping_chunks, &key) != chunk) {
		mapping->end = 0;
		return MAPPING_UNKNOWN;
	}
	if (pc < mapping->end)
		return MAPPING_FOUND;
	mapping->end = 0;
	return MAPPING_NONE;
}

/* Walks one frame. Returns whether the stack ended. */
static __always_inline bool unwind_step(struct sample *sample)
{
	/* A return address points after its call, so the byte before it is looked up. */
	__u64 pc = sample->registers.pc - (sample->pc_is_exact ? 0 : 1);
	enum mapping_found found = find_mapping(sample, pc);
	bool mapped = found == MAPPING_FOUND;
	enum step step;

	if (found == MAPPING_UNKNOWN && sample->set != 0) {
		/*
		 * The set was replaced, or removed with its process. From here on the process is
		 * treated as unknown.
		 */
		sample->set = 0;
		sample->header.flags |= ABI_SAMPLE_UNKNOWN;
		count(ABI_COUNTER_UNKNOWN_PROCESS);
	}
	/* A replaced range is represented by a mapping with end 0. */
	sample->met_unmapped |= found == MAPPING_NONE || (mapped && sample->mapping.end == 0);
	if (mapped) {
		bool known = sample->mapping.executable != 0;

		if (!sample_add_frame(sample, sample->mapping.kind, sample->mapping.executable,
				      known ? pc - sample->mapping.bias : pc))
			return cut(sample, STACK_CUT_DEPTH);
	} else if (sample->set == 0 || sample->innermost) {
		/*
		 * Unknown process: the agent looks up the pcs. A leaf outside all mappings is sent
		 * as its raw pc.
		 */
		if (!sample_add_frame(sample, FRAME_NATIVE, 0, pc))
			return cut(sample, STACK_CUT_DEPTH);
	} else {
		return cut(sample, STACK_CUT_NO_MAPPING);
	}
	/*
	 * The frames of 32-bit code use other registers and words of 4 bytes. If they were walked
	 * as 64-bit frames, the callers would be wrong.
	 */
	if (sample->registers.is_32_bit)
		return cut(sample, STACK_CUT_32_BIT);
	step = step_to_caller(sample, pc, mapped);
	sample->innermost = false;
	return step == STEP_END;
}

__hidden bool unwind_user_part(struct sample *sample)
{
	for (__u32 i = 0; i < UNWIND_STEPS_OF_PART; i++)
		if (unwind_step(sample))
			return true;
	return false;
}

__hidden void unwind_user_end(struct sample *sample, bool ended)
{
	if (!ended)
		cut(sample, STACK_CUT_DEPTH);
	count_many(ABI_COUNTER_FRAMES_BY_TABLE, sample->n_by_table);
	count_many(ABI_COUNTER_FRAMES_BY_POINTER, sample->n_by_pointer);
	count_many(ABI_COUNTER_RULES_CACHED, sample->n_rules_cached);
	sample->header.n_user_frames = sample->n_frames - sample->header.n_kernel_frames;
}

#if !defined(HEARTH_BPF_KERNEL_5)
/*
 * Frames per call of the loop's function. The kernel calls the function indirectly, which costs as
 * much as half a frame.
 */
#define FRAMES_PER_CALL 2

struct walk {
	struct sample *sample;
	bool ended;
};

static long unwind_steps(__u64 index, void *argument)
{
	struct walk *walk = argument;
	struct sample *sample = walk->sample;

	walk->ended = unwind_step(sample) || unwind_step(sample);
	return walk->ended;
}
#endif

/* Walks the stack from sample->registers. */
static __always_inline void unwind(struct sample *sample)
{
#if defined(HEARTH_BPF_KERNEL_5)
	unwind_user_end(sample, unwind_user_part(sample));
#else
	/* One more than the rest of ABI_MAX_USER_FRAMES, because the division rounds down. */
	__u32 n_frames =
		ABI_MAX_USER_FRAMES + 1 - (sample->n_frames - sample->header.n_kernel_frames);
	struct walk walk = { .sample = sample };

	bpf_loop(n_frames / FRAMES_PER_CALL, unwind_steps, &walk, 0);
	unwind_user_end(sample, walk.ended);
#endif
}

__hidden bool unwind_user_begin(struct sample *sample)
{
	/* The task has no user stack (it exits or is in execve()): the kernel frames are all. */
	if (sample->without_memory) {
		sample->registers.entry_pc = 0;
		return false;
	}
	if (sample->registers.pc == 0) {
		cut(sample, STACK_CUT_NO_USER_REGS);
		return false;
	}
	return true;
}

__hidden void unwind_user(struct sample *sample)
{
	if (unwind_user_begin(sample))
		unwind(sample);
}

__hidden void unwind_user_again(struct sample *sample)
{
	/* unwind_step() adds the last frame (its caller could not be read) a second time. */
	sample->n_frames--;
	sample->hash = sample->hash_before;
	sample->innermost = sample->fault_innermost;
	sample->fault_address = 0;
	sample->header.cut = 0;
	/* Time has passed: rows may have been loaded or evicted. */
	sample_forget_regions(sample);
	sample->n_by_table = 0;
	sample->n_by_pointer = 0;
	sample->n_rules_cached = 0;
	sample->n_missing = 0;
	unwind(sample);
}
