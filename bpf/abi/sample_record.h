/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) OR Apache-2.0 */
#pragma once

/*
 * Records that the sampling programs write to the ring buffer.
 *
 * A stack is sent in full once per window; later samples with the same stack carry only its hash.
 * The kernel frames are first, then the user frames, both leaf first. If the mappings of the
 * process are not in the maps yet, a frame has executable 0 and a raw pc, which the agent converts.
 * The hash of such a stack depends on the process too.
 */

#include "bpf/abi/limits.h"

struct abi_frame {
	__u64 address;
	/*
	 * number of the executable; 0: address is a raw pc. For byte code (FRAME_PYTHON) the
	 * position in the code object, whose address in the process is @address
	 */
	__u32 executable;
	__u32 kind; /* enum frame_kind, never 0; and marks */
};

/*
 * Marks in abi_frame.kind, in stacks with ABI_SAMPLE_LISTED: the frames of Ruby, PHP, Perl or Lua
 * are after the native frames.
 */
enum abi_frame_marks {
	ABI_FRAME_KIND = 0xff,
	ABI_FRAME_IS_LOOP = 0x100,   /* native: a call of the interpreter's loop */
	ABI_FRAME_ENDS_CALL = 0x200, /* of byte code: the outermost frame of a call of the loop */
	ABI_FRAME_FROM_C = 0x400, /* of Lua: C called the function, or no instruction of a call */
};

enum abi_sample_flags {
	ABI_SAMPLE_FULL = 1,       /* frames follow */
	ABI_SAMPLE_UNRESOLVED = 2, /* some frame has executable 0 */
	ABI_SAMPLE_UNKNOWN = 4,    /* the process was not in the maps */
	ABI_SAMPLE_KERNEL_THREAD = 8,
	ABI_SAMPLE_WITHOUT_STACK = 16, /* excluded by on_cpu.regex */
	ABI_SAMPLE_COPIED = 32,        /* the record is a struct abi_stack_copy */
	/*
	 * off-cpu: the record only defines the stack of a wait that has not ended. It has the value
	 * 0 and does not count as a sample.
	 */
	ABI_SAMPLE_DEFINITION = 64,
	/* off-cpu: the sample also represents other waits; a struct abi_wait follows */
	ABI_SAMPLE_WITH_WAIT = 128,
};

enum abi_sample_more_flags {
	ABI_SAMPLE_BYTE_CODE = 1, /* some frame is of byte code (bpf/abi/interpreter.h) */
	ABI_SAMPLE_LISTED = 2,    /* frames of Ruby, PHP, Perl or Lua follow the native ones */
	ABI_SAMPLE_LIST_CUT = 4,  /* the outermost ones of them are missing */
};

struct abi_sample {
	__u64 time_ns; /* CLOCK_MONOTONIC */
	__u64 stack_hash;
	__u64 start_time_ns; /* of the group leader, CLOCK_BOOTTIME */
	__u64 value;         /* on-cpu: 1; off-cpu: ns waited, until time_ns */
	__u32 pid;           /* kernel tgid */
	__u32 tid;           /* kernel pid */
	__u32 parent_pid;
	__u32 cpu;
	__u32 exec_count;
	__u16 n_kernel_frames;
	__u16 n_user_frames;
	__u8 event_type; /* enum event_type of common/event_type.h */
	__u8 flags;      /* enum abi_sample_flags */
	__u8 cut;        /* enum stack_cut of common/frame.h */
	__u8 more_flags; /* enum abi_sample_more_flags */
	/*
	 * off-cpu: time that the thread waited on a run queue, in this wait and in earlier waits at
	 * the same site for which it was not reported yet
	 */
	__u32 queued_us;
	char comm[ABI_COMM_SIZE];         /* of the thread */
	char process_comm[ABI_COMM_SIZE]; /* of the group leader */
	__u64 cgroups; /* hash of the cgroups of the process in all hierarchies; 0: not recorded */
	/* With FULL, n_kernel_frames + n_user_frames times struct abi_frame follow. */
};

/*
 * A sample whose user stack could not be unwound in the kernel, because the process or one of its
 * executables is new. The agent unwinds the copy. No other sample has the same stack_hash.
 */
struct abi_stack_copy {
	struct abi_sample header; /* n_user_frames 0 */
	/*
	 * For an open wait: hash of the stack that was captured when the wait began and was cut, 0
	 * if none. The kernel frames of that stack are the frames of the wait, because the kernel
	 * omits the scheduler's functions from the stack of a sleeping task.
	 */
	__u64 began_hash;
	__u64 pc;
	__u64 general[ABI_GENERAL_REGISTERS]; /* by DWARF number */
	struct abi_frame kernel_frames[ABI_MAX_KERNEL_FRAMES];
	__u64 stack_start; /* address of stack[0] */
	__u32 stack_bytes;
	__u32 present; /* bit i: the piece at stack[i * ABI_STACK_PIECE_BYTES] could be read */
	__u8 stack[];  /* the first stack_bytes of it are valid */
};

_Static_assert(ABI_STACK_COPY_BYTES / ABI_STACK_PIECE_BYTES <= 32,
	       "bits of abi_stack_copy.present");

/*
 * A wait whose stack was captured with probability 1/2^weight_shift. It also reports the waits of
 * the same thread and site (code address and length class) whose stack was not captured, the
 * "others". The agent distributes the time of the others over the captured waits of the site
 * (agent/event/off_cpu/skipped_waits.h).
 */
struct abi_wait {
	__u64 others_ns;  /* time of the others since the last report for this site */
	__u32 n_others;   /* their number */
	__u16 capture_us; /* time that capturing the stack took; it may have prolonged the wait */
	__u8 weight_shift;
	__u8 site;
};

_Static_assert(sizeof(struct abi_wait) == sizeof(struct abi_frame),
	       "abi_wait takes the space of the first frame");
_Static_assert(sizeof(struct abi_frame) == 16, "part of the BPF/userspace ABI");
_Static_assert(sizeof(struct abi_sample) == 104, "part of the BPF/userspace ABI");
