// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * User stacks of native code. bpf_loop() calls a function that walks two frames:
 *
 *   mapping of the pc -> frame (executable, ELF address) -> caller's registers -> next step
 *
 * The caller's registers are computed by a row of the executable's unwind table. If there is no
 * row, or its rule is not supported, they are read from the frame record to which the frame pointer
 * points, with checks: a frame pointer must be aligned and above the stack pointer and the previous
 * frame pointer, and a return address must be in executable memory. If code uses the frame pointer
 * register for another purpose, these checks fail and the stack ends with a reason, without wrong
 * frames.
 */
#include "bpf/include/chunk_search.bpf.h"
#if !defined(HEARTH_BPF_KERNEL_5)
#include "bpf/include/lua_walk.bpf.h"
#include "bpf/include/perl_walk.bpf.h"
#include "bpf/include/php_walk.bpf.h"
#include "bpf/include/python_walk.bpf.h"
#include "bpf/include/ruby_walk.bpf.h"
#endif
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

/* The state at the frame that was added last, before the registers of its caller were computed. */
struct left_frame {
	__u64 fp, pc;
	__u32 n_by_pointer;
	bool is_innermost;
};

#if defined(HEARTH_BPF_KERNEL_5)
/*
 * The verifier of 5.10 checks 16 frames one by one; its limit of complexity leaves no room for
 * frames of byte code.
 */
#define forget_list(sample)
#define note_frame_start(sample)
#define begin_interpreter_walk(sample, pc)
#define listed_runtime(sample)               INTERPRETER_NONE
#define walk_interpreter(sample, ret_ended)  false
#define step_java(sample, mapped, ret_ended) false
#define step_yjit(sample, mapped)            false
#define add_user_frame                       sample_add_frame
#define is_v8_function(sample, pc, mapped)   false
#define add_v8_frame(sample)                 true
#define add_builtin_function(sample, left)   (void)(left)
#else
#include "bpf/include/v8_walk.bpf.h"

static __always_inline void note_frame_start(struct sample *sample)
{
	sample->walk.loop_start = sample->registers.sp;
}

/*
 * @pc: of the frame that was added last, in sample->mapping. If it is in an interpreter's loop, the
 * next steps add the functions that this call of the loop executes.
 */
static __always_inline void begin_interpreter_walk(struct sample *sample, __u64 pc)
{
	const struct abi_interpreter *interpreter;
	const bool left_yjit = sample->left_yjit;

	sample->left_yjit = false;
	if (sample->mapping.interpreter == 0 || sample->mapping.end == 0)
		return;
	interpreter = find_interpreter(sample->mapping.interpreter);
	if (!interpreter)
		return;
	/* Code of PHP's JIT compiler runs in the frame of the loop, which is then not found. */
	if (interpreter->runtime == INTERPRETER_PHP)
		note_list(sample);
	if (!is_interpreter_loop(interpreter, pc - sample->mapping.bias))
		return;
	if (interpreter->runtime == INTERPRETER_PYTHON)
		python_walk_begin(sample, interpreter);
	else if (interpreter->runtime == INTERPRETER_PERL)
		note_perl_loop(sample, interpreter);
	else if (interpreter->runtime == INTERPRETER_LUA)
		note_lua_loop(sample, interpreter);
	else if (!left_yjit)
		note_loop(sample, interpreter);
}

/* The runtime of sample->listed. */
static __always_inline __u32 listed_runtime(const struct sample *sample)
{
	const struct abi_interpreter *interpreter = find_interpreter(sample->listed);

	return interpreter ? interpreter->runtime : INTERPRETER_NONE;
}

/*
 * Makes one step in an interpreter and returns true, or returns false: the next frame is native.
 * *ret_ended: the stack ended.
 */
static __always_inline bool walk_interpreter(struct sample *sample, bool *ret_ended)
{
	if (sample->walk.state == INTERPRETER_WALK_NONE)
		return false;
	*ret_ended = is_full(sample) || !python_walk_step(sample);
	if (*ret_ended)
		cut(sample, STACK_CUT_DEPTH);
	return true;
}

static __always_inline bool add_user_frame(struct sample *sample, __u32 kind, __u32 executable,
					   __u64 address)
{
	return !is_full(sample) && sample_add_frame(sample, kind, executable, address);
}

/* Whether V8 generated the code at @pc for a function, which is then in sample->v8_function. */
static __always_inline bool is_v8_function(struct sample *sample, __u64 pc, bool mapped)
{
	if ((mapped && sample->mapping.executable != 0) || v8_of(sample) == 0 ||
	    sample->registers.fp < sample->registers.sp)
		return false;
	(void)v8_find_function(sample, sample->registers.fp, 0, pc, true);
	return sample->v8_function != 0;
}

static __always_inline bool add_v8_frame(struct sample *sample)
{
	sample->header.more_flags |= ABI_SAMPLE_BYTE_CODE;
	sample->n_v8_frames++;
	return add_user_frame(sample, FRAME_V8, sample->v8_position, sample->v8_function);
}

/*
 * If @left, the frame that was added last, is a built-in function of V8, adds the function of
 * JavaScript that has this frame, or that called it. In the file of V8, only built-in functions
 * have no rows; the analysis of their code has made rows for some (agent/unwind/x86_code).
 */
static __always_inline void add_builtin_function(struct sample *sample,
						 const struct left_frame *left)
{
	bool is_entry;

	if (sample->mapping.interpreter == 0 || sample->mapping.interpreter != v8_of(sample))
		return;
	/* The function had not changed the frame pointer: a row led to its caller. */
	if (sample->registers.fp == left->fp)
		return;
	is_entry = v8_find_function(sample, left->fp, left->pc - sample->mapping.bias, 0,
				    sample->n_by_pointer != left->n_by_pointer);
	if (sample->v8_function == 0)
		return;
	/* Drop the entry code between an interpreted function and its callee: it names nothing. */
	if (is_entry && !left->is_innermost) {
		sample->n_frames--;
		sample->hash = sample->hash_before;
	}
	(void)add_v8_frame(sample);
}

#include "bpf/include/java_walk.bpf.h"

/*
 * If the frame is in code that a JVM generated, adds it, goes to its caller and returns true.
 * *ret_ended: the stack ended.
 */
static __always_inline bool step_java(struct sample *sample, bool mapped, bool *ret_ended)
{
	int step;

	/* Generated code is in no file. */
	if ((mapped && sample->mapping.executable != 0) || sample->is_without_jvm ||
	    sample->registers.is_32_bit)
		return false;
	step = java_step(sample);
	*ret_ended = step != JAVA_STEP_CALLER;
	return step != JAVA_STEP_NONE;
}

#if defined(__TARGET_ARCH_x86)
#include "bpf/include/yjit_walk.bpf.h"

/*
 * If the frame is in code that YJIT generated, adds it, goes to its caller and returns true. The
 * calls of the loop are those of this code, so that the loop is not marked if it calls the code.
 */
static __always_inline bool step_yjit(struct sample *sample, bool mapped)
{
	if ((mapped && sample->mapping.executable != 0) || ruby_of(sample) == 0 ||
	    sample->set == 0 || sample->registers.is_32_bit)
		return false;
	return yjit_step(sample) == 1;
}
#else
#define step_yjit(sample, mapped) false
#endif
#endif

/* Walks one frame. Returns whether the stack ended. */
static __always_inline bool unwind_step(struct sample *sample)
{
	bool ended = false;
	enum mapping_found found;
	struct left_frame left;
	enum step step;
	bool mapped;
	__u64 pc;

	if (walk_interpreter(sample, &ended))
		return ended;
	/* A return address points after its call, so the byte before it is looked up. */
	pc = sample->registers.pc - (sample->pc_is_exact ? 0 : 1);
	found = find_mapping(sample, pc);
	mapped = found == MAPPING_FOUND;
	if (found == MAPPING_UNKNOWN && sample->set != 0) {
		/*
		 * The set was replaced, or removed with its process. From here on the process is
		 * treated as unknown.
		 */
		sample->set = 0;
		sample->header.flags |= ABI_SAMPLE_UNKNOWN;
		count(ABI_COUNTER_UNKNOWN_PROCESS);
	}
	if (step_java(sample, mapped, &ended))
		return ended;
	if (step_yjit(sample, mapped))
		return false;
	/* A replaced range is represented by a mapping with end 0. */
	sample->met_unmapped |= found == MAPPING_NONE || (mapped && sample->mapping.end == 0);
	if (is_v8_function(sample, pc, mapped)) {
		if (!add_v8_frame(sample))
			return cut(sample, STACK_CUT_DEPTH);
	} else if (mapped) {
		bool known = sample->mapping.executable != 0;

		if (!add_user_frame(sample, sample->mapping.kind, sample->mapping.executable,
				    known ? pc - sample->mapping.bias : pc))
			return cut(sample, STACK_CUT_DEPTH);
	} else if (sample->set == 0 || sample->innermost) {
		/*
		 * Unknown process: the agent looks up the pcs. A leaf outside all mappings is sent
		 * as its raw pc.
		 */
		if (!add_user_frame(sample, FRAME_NATIVE, 0, pc))
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
	note_frame_start(sample);
	left = (struct left_frame){
		.fp = sample->registers.fp,
		.pc = pc,
		.n_by_pointer = sample->n_by_pointer,
		.is_innermost = sample->innermost,
	};
	step = step_to_caller(sample, pc, mapped);
	sample->innermost = false;
	if (mapped && step == STEP_CALLER) {
		begin_interpreter_walk(sample, pc);
		add_builtin_function(sample, &left);
	}
	return step == STEP_END;
}

static __always_inline void count_listed(const struct sample *sample)
{
	const __u32 runtime = listed_runtime(sample);

	count_many(runtime == INTERPRETER_PHP    ? ABI_COUNTER_PHP_FRAMES
		   : runtime == INTERPRETER_PERL ? ABI_COUNTER_PERL_FRAMES
		   : runtime == INTERPRETER_LUA  ? ABI_COUNTER_LUA_FRAMES
						 : ABI_COUNTER_RUBY_FRAMES,
		   sample->n_listed);
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
	count_many(ABI_COUNTER_PYTHON_FRAMES, sample->walk.n_frames);
	count_many(ABI_COUNTER_JAVA_FRAMES, sample->n_java_frames);
	count_many(ABI_COUNTER_V8_FRAMES, sample->n_v8_frames);
	count_listed(sample);
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
	struct walk walk = { .sample = sample };

	bpf_loop((ABI_MAX_USER_FRAMES + PYTHON_MORE_STEPS) / FRAMES_PER_CALL, unwind_steps, &walk,
		 0);
	if (listed_runtime(sample) == INTERPRETER_RUBY)
		(void)ruby_walk(sample);
	else if (listed_runtime(sample) == INTERPRETER_PERL)
		(void)perl_walk(sample);
	else if (listed_runtime(sample) == INTERPRETER_LUA)
		(void)lua_walk(sample);
	else if (sample->listed)
		(void)php_walk(sample);
	unwind_user_end(sample, walk.ended);
#endif
}

__hidden bool unwind_user_begin(struct sample *sample)
{
	/* The task exits or is in execve(): it has no user stack, only kernel frames. */
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
	forget_list(sample);
	/*
	 * The caller of the last frame could not be read. Unwinding starts at this frame again, and
	 * unwind_step() adds it again.
	 */
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
	sample->walk.n_frames = 0;
	sample->n_java_frames = 0;
	sample->n_v8_frames = 0;
	unwind(sample);
}
