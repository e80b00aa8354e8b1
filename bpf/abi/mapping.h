/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) OR Apache-2.0 */
#pragma once

/*
 * Maps that convert a pc of a process to (executable, ELF address). The agent fills them, and the
 * unwinder searches them.
 *
 *   processes       tgid -> struct abi_process: its mapping set, and the number of chunks; a BPF
 *                   program copies the parent's entry at each fork
 *   mapping_chunks  (set, index) -> struct abi_mapping_chunk: up to 124 mappings in rising order;
 *                   if there is more than one chunk, (set, ABI_DIRECTORY) has the first address of
 *                   each
 *   exec_counts     tgid -> how often the image changed: each exec adds ABI_EXEC_STEP, each
 *                   replacement of code by another mapping adds 1; only the BPF programs write it
 *
 * An entry of `processes` is used only if it matches the task. The start time must be equal,
 * because a pid may be reused. The number of changes must be equal too, because the agent may write
 * the old image's set just after an exec. The kernel may reuse the memory of a hash element while a
 * program reads it, so readers look up the element again after reading
 * (bpf/include/map_reuse.bpf.h). A set's number is never used again.
 *
 * The kernel sends no event when code is unmapped. When the kernel uses the range for a new
 * mapping, a BPF program stores the range in the entry. Until the agent writes a new entry, this
 * range overrides the mappings: pcs in it are sent as raw pcs.
 */

#include "bpf/abi/limits.h"

/* The upper half of an exec_count counts execs. The agent compares it to find execs it missed. */
#define ABI_EXEC_STEP 0x10000u

struct abi_mapping {
	__u64 start; /* pc, inclusive */
	__u64 end;   /* pc, exclusive */
	__u64 bias;  /* pc - bias is the frame's address */
	/* number of the executable; 0: memory without a known file, frames have the raw pc */
	__u32 executable;
	__u16 kind;        /* enum frame_kind of common/frame.h: NATIVE or NATIVE_FILE_OFFSET */
	__u16 interpreter; /* index in the map `interpreters` (bpf/abi/interpreter.h); 0: none */
};

struct abi_mapping_chunk {
	__u32 set;        /* same as in its key */
	__u32 n_mappings; /* in a directory: number of chunks */
	union {
		struct abi_mapping mappings[ABI_MAPPINGS_PER_CHUNK];
		__u64 chunk_start[ABI_MAX_CHUNKS]; /* in a directory: rising */
	};
};

struct abi_chunk_key {
	__u32 set;
	__u32 index;
};

enum abi_process_flags {
	ABI_PROCESS_WITHOUT_STACKS = 1,  /* excluded by on_cpu.regex: samples are counted only */
	ABI_PROCESS_WITHOUT_OFF_CPU = 2, /* excluded by off_cpu.regex: waits are not captured */
	ABI_PROCESS_WITH_CGROUPS = 4,    /* samples must have abi_sample.cgroups */
};

/*
 * The upper half of the flags: indexes of the process's V8 and of its CRuby in the map
 * `interpreters`, of 8 bits each; 0: none.
 */
#define ABI_PROCESS_V8_SHIFT   16
#define ABI_PROCESS_V8_BITS    0xff
#define ABI_PROCESS_RUBY_SHIFT 24

/* Unit of abi_process.start_time_10ms. */
#define ABI_START_TIME_TICK_NS 10000000ULL

struct abi_process {
	/* start of the group leader: time since boot in ticks of 10 ms, as in /proc/PID/stat */
	__u64 start_time_10ms;
	__u32 exec_count;
	__u32 set; /* 0: the mappings are not known */
	__u32 n_chunks;
	__u32 flags; /* enum abi_process_flags, and indexes */
	/* range that was replaced since the agent wrote this entry; 0 and 0: none */
	__u64 replaced_start, replaced_end;
};

_Static_assert(sizeof(struct abi_mapping) == 32, "part of the BPF/userspace ABI");
_Static_assert(
	sizeof(struct abi_mapping_chunk) == 3976,
	"with its key and the header of the hash element, it fits into a slab object of 4 KiB");
_Static_assert(sizeof(struct abi_process) == 40, "part of the BPF/userspace ABI");
