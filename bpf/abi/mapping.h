/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) OR Apache-2.0 */
#pragma once

/*
 * pc -> (executable, ELF address), per process. The agent fills these maps; the unwinder searches
 * them.
 *
 *   processes       tgid -> struct abi_process: which mapping set, and how many chunks it has; each fork copies it
 *   mapping_chunks  (set, index) -> struct abi_mapping_chunk: up to 124 mappings in rising order; with more than one
 *                   chunk (set, ABI_DIRECTORY) has the first address of each
 *   exec_counts     tgid -> how often the image changed: by exec (ABI_EXEC_STEP each), or because other code came into
 *                   the place of code (1 each); written by the kernel side only
 *
 * A process entry is used only while it fits the task: the start time must be equal (a reused pid)
 * and so must the number of changes (the agent may write the old image's set just after an exec).
 * Hash elements are reused under a reader, who looks for them once more after reading
 * (bpf/include/map_reuse.bpf.h). A set's number never comes back.
 *
 * Nothing is told when code is unmapped. When its place is given away the kernel side notes that
 * range in the entry, whose mappings it goes before until the agent has written a new one: pcs in
 * it are told as they are.
 */

#include "bpf/abi/limits.h"

/* The upper half of an exec_count are execs: the agent sees by it that it missed one. */
#define ABI_EXEC_STEP 0x10000u

struct abi_mapping {
	__u64 start; /* pc, inclusive */
	__u64 end;   /* pc, exclusive */
	__u64 bias;  /* pc - bias is the frame's address */
	/* number; 0: executable memory without a known file, the raw pc is the address */
	__u32 executable;
	__u32 kind; /* enum frame_kind of common/frame.h: NATIVE or NATIVE_FILE_OFFSET */
};

struct abi_mapping_chunk {
	__u32 set;        /* as in its key */
	__u32 n_mappings; /* of a directory: chunks */
	union {
		struct abi_mapping mappings[ABI_MAPPINGS_PER_CHUNK];
		__u64 chunk_start[ABI_MAX_CHUNKS]; /* of a directory: rising */
	};
};

struct abi_chunk_key {
	__u32 set;
	__u32 index;
};

enum abi_process_flags {
	ABI_PROCESS_WITHOUT_STACKS = 1,  /* left out by on_cpu.regex: counted only */
	ABI_PROCESS_WITHOUT_OFF_CPU = 2, /* left out by off_cpu.regex: its waits are not taken */
	ABI_PROCESS_TELL_CGROUPS = 4,    /* samples are to have abi_sample.cgroups */
};

struct abi_process {
	/* boot time of the group leader's start, in ticks of 10 ms as /proc/PID/stat has it */
	__u64 start_time_10ms;
	__u32 exec_count;
	__u32 set; /* 0: no mappings known */
	__u32 n_chunks;
	__u32 flags;
	/* given away since the agent wrote this; 0 and 0: nothing */
	__u64 replaced_start, replaced_end;
};

_Static_assert(sizeof(struct abi_mapping) == 32, "part of the BPF/userspace ABI");
_Static_assert(sizeof(struct abi_mapping_chunk) == 3976,
	       "with key and hash element below 4 KiB, one slab object");
_Static_assert(sizeof(struct abi_process) == 40, "part of the BPF/userspace ABI");
