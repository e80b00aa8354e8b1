/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) OR Apache-2.0 */
#pragma once

/*
 * Finding a mapping in a chunk of a process's mappings (bpf/abi/mapping.h). The chunk may be reused meanwhile: what was
 * found counts only after the check that map_reuse.bpf.h describes.
 */

#include "bpf/include/map_reuse.bpf.h"

/*
 * Index of the last of the chunk's mappings whose start is <= @pc; a huge value when there is none. *read depends on
 * everything that was read.
 */
static __always_inline __u32 search_chunk(const struct abi_mapping_chunk *chunk, __u64 pc, __u64 *read)
{
	__u32 high = read_once(chunk->n_mappings);
	__u32 low = 0;

	*read = high;
#pragma unroll
	for (int step = 0; step < 6; step++) {
		__u32 middle = (low + high) / 2;
		__u64 start;

		/* Else the compiler makes one comparison of the two, by which the verifier does not know the bound. */
		asm volatile("" : "+r"(middle));
		if (low >= high || middle >= ABI_MAPPINGS_PER_CHUNK)
			break;
		start = read_once(chunk->mappings[middle].start);
		*read ^= start;
		if (start <= pc)
			low = middle + 1;
		else
			high = middle;
	}
	low--;
	asm volatile("" : "+r"(low));
	return low;
}
