/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) OR Apache-2.0 */
#pragma once

/*
 * A sample while it is being taken: the record that is sent, followed by the state of unwinding. It
 * is in per-CPU scratch memory, one slot per program type, because a tick may interrupt another
 * program.
 */

#include "bpf/include/maps.bpf.h"
#include "bpf/include/registers.bpf.h"

/*
 * Words of the stack that one read copies to sample.window. A frame has about ten words, so one
 * read is enough for about six frames.
 */
#define SAMPLE_WINDOW_WORDS 64

/*
 * Number of recently used code regions (bpf/abi/unwind_maps.h); a stack often alternates between a
 * few. A power of two.
 */
#define SAMPLE_REGIONS 4

struct sample_region {
	__u64 key;
	__u32 directory;
};

enum interpreter_walk_state {
	INTERPRETER_WALK_NONE,   /* native frames */
	INTERPRETER_WALK_THREAD, /* looks for the state of the thread */
	INTERPRETER_WALK_FRAMES, /* adds frames of byte code */
};

/* The state of python_walk.bpf.h. Addresses are of the process. */
struct interpreter_walk {
	enum interpreter_walk_state state;
	__u32 interpreter; /* the one whose thread was found; 0: none yet */
	bool is_lost;      /* no more frames of byte code are added to this stack */
	bool is_done;      /* all frames of this call were added */
	bool is_listed;    /* `thread` is an element of the list of threads */
	__u32 n_threads;   /* that were compared */
	__u32 n_frames;
	__u64 thread_id; /* as the interpreter knows the sampled thread */
	__u64 vm, thread;
	__u64 cframe, frame; /* the next ones; 0: none */
	/* the call of the loop whose frames are added: its frame, and the end of its stack frame */
	__u32 loop_interpreter;
	struct abi_frame loop;
	__u64 loop_bias;
	__u64 loop_start, loop_end;
	/* the state before the frames of a call were added, for the case that it is another call */
	__u64 call_frame;
	__u64 call_hash;
	__u32 call_n_frames;
	__u64 words[ABI_PYTHON_FRAME_BYTES / sizeof(__u64) + 2]; /* a power of two */
};

/*
 * The state of perl_walk.bpf.h. It is not on the BPF stack: the verifier would follow each value of
 * each variable through all steps.
 */
struct perl_walk {
	__u64 stack, contexts, previous;
	__u64 cop; /* the statement that the next frame executes */
	/* the last frame, which is added when its caller is known; 0: there is none */
	__u64 address;
	__u32 line, kind;
	__s32 index; /* of the next context; -1: none */
	__u32 stack_kind;
	__u16 stack_kind_at, context_bytes, context_cv, eval_string;
	bool is_first;   /* no context was read */
	bool is_idle;    /* the innermost context executes no Perl code at present */
	bool is_entered; /* the last frame may not have a statement yet */
	bool is_whole;
};

/* Calls of the loop of Lua in a stack whose states are found, and coroutines in it. */
#define LUA_MAX_LOOPS  64
#define LUA_MAX_STATES 8

/* The state of lua_walk.bpf.h, not on the BPF stack for the same reason. */
struct lua_walk {
	__u64 loops[LUA_MAX_LOOPS]; /* CFAs of the stack frames of the loop, leaf first */
	__u32 n_loops;
	__u32 n_states;
	/* the states of these calls, leaf first, and the number of calls of each */
	__u64 states[LUA_MAX_STATES];
	__u32 n_calls[LUA_MAX_STATES];
	/* the best one among the registers of a call that were looked at; 0: none */
	__u64 state, error_jump;
	__u32 n_unknown;   /* innermost calls whose state is not known */
	bool lacks_states; /* there are more than LUA_MAX_STATES */
	__u32 at;          /* index of the next state */
	__u64 call;        /* the next CallInfo; 0: the walk begins with the next state */
	__u64 innermost, first_call;
	/* the last frame, which is added when its caller is known; address 0: there is none */
	__u64 address;
	__u32 position;
	bool is_fresh; /* it is marked as the outermost one of a call of the loop */
	bool ends_call;
	bool is_at_start; /* it is the innermost one, and has executed no instruction yet */
	bool is_whole;
	__u32 n_groups; /* of the state, that ended */
	__u32 n_paired; /* groups of the state that have a call of the loop */
	struct abi_lua_layout layout;
};

struct sample {
	struct abi_sample header;
	/* directly after the header: both are sent in one piece */
	struct abi_frame frames[ABI_MAX_FRAMES];
	__u32 n_frames;
	__u64 hash;
	__u64 hash_before; /* value of hash before the last frame was added */

	/* state of unwinding */
	struct unwind_registers registers;
	__u64 window_start; /* user address of window[0] */
	__u64 window_bytes; /* 0: the window is empty */
	__u64 window[SAMPLE_WINDOW_WORDS];
	__u32 n_by_table, n_by_pointer; /* callers found by an unwind row, by the frame pointer */
	__u32 n_rules_cached;           /* rules that were found in rule_cache */
	__u32 n_missing;                /* frames whose rows are not loaded */
	__u32 missing_executable;       /* of the first such frame */
	__u64 missing_address;
	bool copy_lacks_pages; /* the stack copy that was sent to the agent lacks pages */
	/* the pc is not a return address: the innermost frame, or one that a signal interrupted */
	bool pc_is_exact;
	bool innermost;
	bool fault_innermost; /* the value of `innermost` at the fault */
	bool met_unmapped;    /* a pc was outside all known mappings */
	/* there is no user stack: the thread exits, or is in the middle of execve() */
	bool without_memory;
	bool is_without_jvm; /* the process has no entry in `jvms` */
	__u64 fault_address; /* address that could not be read, 0 if none */
	struct sample_region regions[SAMPLE_REGIONS]; /* recently looked up; key 0: empty */
	struct interpreter_walk walk;
	struct abi_mapping mapping; /* the mapping found last, which often contains the next pc */
	__u32 process_flags;        /* enum abi_process_flags */
	__u32 set;                  /* mapping set of the process, 0 if none */
	__u32 n_chunks;
	__u64 replaced_start, replaced_end; /* range whose mappings were replaced */
	__u64 kernel_pcs[ABI_MAX_KERNEL_FRAMES];
	/* java_walk.bpf.h */
	__u32 n_java_frames;
	__u64 blob[ABI_CODE_BLOB_BYTES / sizeof(__u64)];
	/* v8_walk.bpf.h */
	__u32 n_v8_frames;
	/*
	 * The function that was found last: {address of the SharedFunctionInfo, 0} or {optimized
	 * code, offset}; 0: none.
	 */
	__u64 v8_function;
	__u32 v8_position;
	__u64 v8_dispatch_table;               /* of the process; 0: not read yet */
	__u64 v8_words[ABI_V8_FUNCTION_WORDS]; /* a power of two */
	/*
	 * the interpreter whose loop is in the stack, and whose frames are added after the native
	 * ones; 0: none
	 */
	__u32 listed;
	__u64 listed_bias;
	__u32 n_listed;
	/* perl_walk.bpf.h */
	struct perl_walk perl;
	bool perl_is_run;     /* perl_run() has called the loop: the main program is executed */
	bool perl_skips_loop; /* the next call of the loop is a part of the one before */
	struct lua_walk lua;
	/* yjit_walk.bpf.h: the innermost frame is code of YJIT; so is the frame added last */
	bool is_in_yjit, left_yjit;
	/* before these frames were added */
	__u32 n_frames_before_list;
	__u64 hash_before_list, hash_before_last;
};

static __always_inline void sample_forget_regions(struct sample *sample)
{
#pragma unroll
	for (int i = 0; i < SAMPLE_REGIONS; i++)
		sample->regions[i].key = 0;
}

/* Fills the header for the current task. */
__hidden void sample_begin(struct sample *sample, __u8 event_type, __u64 value);

/* Fills the header for another task. */
__hidden void sample_begin_task(struct sample *sample, struct task_struct *task, __u8 event_type,
				__u64 value);

/* Finds the mappings of the sample's process. Counts and flags an unknown process. */
__hidden void sample_find_process(struct sample *sample);

/* Fills header.cgroups if the agent may not know the cgroups of the current process. */
__hidden void sample_note_cgroups(struct sample *sample);

__hidden void unwind_kernel(struct sample *sample, void *context);

/* Like unwind_kernel(), without the @n_innermost innermost frames, at most 255. */
__hidden void unwind_kernel_without(struct sample *sample, void *context, __u32 n_innermost);

__hidden void unwind_user(struct sample *sample);

/*
 * unwind_user() in parts, for kernels whose verifier does not accept a loop over all frames.
 * unwind_user_begin() returns whether there is a stack to walk. Each unwind_user_part() walks
 * UNWIND_STEPS_OF_PART frames and returns whether the stack ended. unwind_user_end() completes the
 * stack.
 */
#define UNWIND_STEPS_OF_PART 16
__hidden bool unwind_user_begin(struct sample *sample);
__hidden bool unwind_user_part(struct sample *sample);
__hidden void unwind_user_end(struct sample *sample, bool ended);

/* Adds sample->kernel_pcs[first .. n_pcs). All of them are return addresses. */
__hidden void unwind_kernel_callers(struct sample *sample, __u32 first, __u32 n_pcs);

/* Continues after STACK_CUT_READ_FAULT, from the frame whose caller could not be read. */
__hidden void unwind_user_again(struct sample *sample);

/*
 * Sends the sample through the ring buffer. If the agent can unwind the stack and this program
 * could not, sends a copy of the stack; else calls sample_submit(). Returns 0, or -1 if the ring
 * buffer is full.
 */
__hidden int sample_deliver(struct sample *sample);

/*
 * Sends the sample through the ring buffer: in full if the stack was not sent in this window, else
 * with its hash only. A definition is sent in full or not at all. Returns 0, or -1 if the ring
 * buffer is full.
 */
__hidden int sample_submit(struct sample *sample);

/*
 * Sends a sample whose stack was sent before and whose hash is in the header. With
 * ABI_SAMPLE_WITH_WAIT the first frame is a struct abi_wait.
 */
__hidden int sample_submit_known(struct sample *sample);

/*
 * For a stack that was cut because a page is not resident. sample_defer(), called at ticks only,
 * returns true if the sampled thread will complete and submit the sample. sample_touch() asks the
 * agent to read the page, so that later samples find it.
 */
__hidden bool sample_defer(struct sample *sample);
__hidden void sample_touch(struct sample *sample);

/* Appends a frame. Returns false if the record is full. */
static __always_inline bool sample_add_frame(struct sample *sample, __u32 kind, __u32 executable,
					     __u64 address)
{
	__u32 index = sample->n_frames;

	/* The verifier must see the bound on the same register that is used as index. */
	asm volatile("" : "+r"(index));
	if (index >= ABI_MAX_FRAMES)
		return false;
	sample->frames[index].address = address;
	sample->frames[index].executable = executable;
	sample->frames[index].kind = kind;
	sample->n_frames = index + 1;

	/* Multiply-xorshift: cheap, and a change of one bit affects the whole hash. */
	sample->hash_before = sample->hash;
	__u64 hash = (sample->hash ^ address ^ ((__u64)executable << 40) ^ ((__u64)kind << 60)) *
		     0x9e3779b97f4a7c15ULL;
	sample->hash = hash ^ (hash >> 29);
	if (executable == 0)
		sample->header.flags |= ABI_SAMPLE_UNRESOLVED;
	return true;
}
