/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) OR Apache-2.0 */
#pragma once

/*
 * Limits that the BPF programs and the agent share.
 */

#ifndef __bpf__
#include <linux/types.h> /* bpf/include/kernel_types.h defines these types for the programs */
#endif

/*
 * Maximum depth of a user stack. With the kernel's part a record takes less than half of a per-CPU
 * value of 32 KiB.
 */
#define ABI_MAX_USER_FRAMES 512

/* The kernel returns at most 127 by default (kernel.perf_event_max_stack). */
#define ABI_MAX_KERNEL_FRAMES 127

#define ABI_MAX_FRAMES (ABI_MAX_USER_FRAMES + ABI_MAX_KERNEL_FRAMES + 1)

/* arm64 has the most registers: x0 ... x30, sp. */
#define ABI_GENERAL_REGISTERS 32

/*
 * Stacks that the agent unwinds are copied in pieces. The small copy is enough for nearly all
 * stacks. It is too small for one in three stacks of clang, which recurses for each level of the
 * source.
 */
#define ABI_STACK_PIECE_BYTES      4096
#define ABI_SMALL_STACK_COPY_BYTES 32768
#define ABI_STACK_COPY_BYTES       131072

/*
 * Size of a stack copy that a walk makes of a waiting thread. A record of the walk must fit into
 * its file's buffer of eight pages.
 */
#define ABI_WALKED_STACK_BYTES 24576

/*
 * Bytes below the stack pointer that a returning function has just removed from its frame: x86-64's
 * red zone, which signal handlers leave alone (psABI 3.2.2). gcc's call frame information refers to
 * them.
 */
#define ABI_RED_ZONE_BYTES 128

/* TASK_COMM_LEN of the kernel. */
#define ABI_COMM_SIZE 16

/*
 * The executable mappings of a process are stored in chunks of about 4 KB, because the kernel's
 * allocator uses 4 KiB for any hash element of more than 2 KiB. A small process has one chunk (60
 * executable mappings are usual). A process with more chunks has a directory too, an element of the
 * same map with the first address of each chunk. The maximum is 31 744 mappings. The agent stores
 * those beyond it as one range, and looks up the pcs in it itself (agent/publish/mapping_set.h).
 */
#define ABI_MAPPINGS_PER_CHUNK 124
#define ABI_MAX_CHUNKS         256
#define ABI_MAX_MAPPINGS       (ABI_MAPPINGS_PER_CHUNK * ABI_MAX_CHUNKS)

/* The directory's index among the chunks of its set. */
#define ABI_DIRECTORY 0xffffffffu

/*
 * Ceilings. Hash maps are not preallocated, so only the buckets (16 bytes each) take memory at
 * once.
 */
#define ABI_MAX_PROCESSES      65536
#define ABI_MAX_MAPPING_CHUNKS 65536

/* Slots of the filter of stacks that were sent in this window: 8 bytes each. */
#define ABI_SEEN_SLOTS 16384
