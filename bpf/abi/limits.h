/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) OR Apache-2.0 */
#pragma once

/*
 * Sizes that the BPF programs and the agent agree on.
 */

#ifndef __bpf__
#include <linux/types.h> /* the programs have theirs from bpf/include/kernel_types.h */
#endif

/*
 * Deepest user stack. With the kernel's part a record stays below half of a 32 KiB per-CPU value.
 */
#define ABI_MAX_USER_FRAMES 512

/* The kernel gives at most 127 by default (kernel.perf_event_max_stack). */
#define ABI_MAX_KERNEL_FRAMES 127

#define ABI_MAX_FRAMES (ABI_MAX_USER_FRAMES + ABI_MAX_KERNEL_FRAMES + 1)

/* arm64 has the most: x0 ... x30, sp. */
#define ABI_GENERAL_REGISTERS 32

/*
 * What is copied of a stack that the agent unwinds, in pieces. Nearly all stacks are in the small
 * copy; of clang's, which recurses for every level of the source, one in three is not.
 */
#define ABI_STACK_PIECE_BYTES      4096
#define ABI_SMALL_STACK_COPY_BYTES 32768
#define ABI_STACK_COPY_BYTES       131072

/*
 * The same of a thread that waits: a record of the walk must fit into its file's buffer of eight
 * pages.
 */
#define ABI_WALKED_STACK_BYTES 24576

/*
 * Below the stack pointer, what a function that returns has just taken off its frame: x86-64's red
 * zone, which signal handlers leave alone (psABI 3.2.2). Call frame information of gcc leads there.
 */
#define ABI_RED_ZONE_BYTES 128

/* TASK_COMM_LEN of the kernel. */
#define ABI_COMM_SIZE 16

/*
 * Executable mappings of one process come in chunks of some 4 KB, which is what the kernel's
 * allocator hands out for a hash element of more than 2 KiB: a small process (60 executable
 * mappings are usual) has one. One with more has a directory as well, an element of the same map
 * that has the first address of each chunk. 31 744 in all; what a process has beyond that is told
 * as one range, whose pcs the agent looks up (agent/publish/mapping_set.h).
 */
#define ABI_MAPPINGS_PER_CHUNK 124
#define ABI_MAX_CHUNKS         256
#define ABI_MAX_MAPPINGS       (ABI_MAPPINGS_PER_CHUNK * ABI_MAX_CHUNKS)

/* Index of the directory among the chunks of its set. */
#define ABI_DIRECTORY 0xffffffffu

/*
 * Hash maps are not preallocated: these are ceilings, of which only the buckets (16 bytes each) are
 * memory.
 */
#define ABI_MAX_PROCESSES      65536
#define ABI_MAX_MAPPING_CHUNKS 65536

/* Slots of the filter of stacks seen in this window: 8 bytes each. */
#define ABI_SEEN_SLOTS 16384
