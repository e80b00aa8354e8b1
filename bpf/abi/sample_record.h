/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) OR Apache-2.0 */
#pragma once

/*
 * Records that the sampling programs write to the ring buffer.
 *
 * A stack is sent in full once per window; later samples of it carry only its hash. The kernel's
 * frames are first, then the user's, both leaf first. A frame with executable 0 holds a raw pc,
 * which the agent converts, because the process's mappings were not in the maps yet. The hash then
 * depends on the process too.
 */

#include "bpf/abi/limits.h"

struct abi_frame {
	__u64 address;
	__u32 executable; /* number; 0: address is a raw pc */
	__u32 kind;       /* enum frame_kind, never 0 */
};

enum abi_sample_flags {
	ABI_SAMPLE_FULL = 1,       /* frames follow */
	ABI_SAMPLE_UNRESOLVED = 2, /* some frame has executable 0 */
	ABI_SAMPLE_UNKNOWN = 4,    /* the process was not in the maps */
	ABI_SAMPLE_KERNEL_THREAD = 8,
	ABI_SAMPLE_WITHOUT_STACK = 16, /* excluded by on_cpu.regex */
	ABI_SAMPLE_COPIED = 32,        /* the record is a struct abi_stack_copy */
	/* off-cpu: the stack of an open wait; value 0, not a sample */
	ABI_SAMPLE_DEFINITION = 64,
	/* off-cpu: the sample also represents other waits; a struct abi_wait follows */
	ABI_SAMPLE_WITH_WAIT = 128,
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
	__u8 zero;
	/*
	 * off-cpu: run-queue time of this wait, and of others at its site that was not reported yet
	 */
	__u32 queued_us;
	char comm[ABI_COMM_SIZE];         /* of the thread */
	char process_comm[ABI_COMM_SIZE]; /* of the group leader */
	__u64 cgroups; /* equal for processes with the same cgroups; 0: not recorded */
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
 * A wait that was captured with probability 1/2^weight_shift, and the waits of its thread and site
 * (code address and length class) that were not captured. The time of those is known but not their
 * stacks. All captured waits of the site share it.
 */
struct abi_wait {
	__u64 others_ns; /* since they were last reported for this site */
	__u32 n_others;
	__u16 capture_us; /* time that capturing the stack took; it may have prolonged the wait */
	__u8 weight_shift;
	__u8 site;
};

_Static_assert(sizeof(struct abi_wait) == sizeof(struct abi_frame),
	       "it is where the first frame would be");
_Static_assert(sizeof(struct abi_frame) == 16, "part of the BPF/userspace ABI");
_Static_assert(sizeof(struct abi_sample) == 104, "part of the BPF/userspace ABI");
