/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) OR Apache-2.0 */
#pragma once

/*
 * Finds a mapping in a chunk of a process's mappings (bpf/abi/mapping.h). The kernel may reuse the
 * chunk's memory during the search, so a result counts only after the check that map_reuse.bpf.h
 * describes. Most processes have one chunk. The others have a directory, which is one more element
 * of the same map.
 */

#include "bpf/include/map_reuse.bpf.h"

/*
 * Index of the last mapping in the chunk with start <= @pc, or a huge value if there is none. *read
 * depends on every value that was read.
 */
static __always_inline __u32 search_chunk(const struct abi_mapping_chunk *chunk, __u64 pc,
					  __u64 *read)
{
	__u32 high = read_once(chunk->n_mappings);
	__u32 low = 0;

	*read = high;
#pragma unroll
	for (int step = 0; step < 7; step++) {
		__u32 middle = (low + high) / 2;
		__u64 start;

		/*
		 * Hides the value from the compiler, which otherwise merges the two comparisons
		 * below into one, so that the verifier loses the bound.
		 */
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

/*
 * Index of the last chunk that begins at or before @pc, or of the first one. ABI_MAX_CHUNKS: the
 * set was removed.
 */
static __always_inline __u32 find_chunk(__u32 set, __u32 n_chunks, __u64 pc)
{
	struct abi_chunk_key key = { .set = set, .index = ABI_DIRECTORY };
	const struct abi_mapping_chunk *directory;
	__u32 count = n_chunks;
	__u32 low = 0;
	__u64 read = 0;

	if (n_chunks <= 1)
		return 0;
	directory = bpf_map_lookup_elem(&mapping_chunks, &key);
	if (!directory)
		return ABI_MAX_CHUNKS;
#pragma unroll
	for (int step = 0; step < 8; step++) {
		__u32 half = count / 2;
		__u64 start;

		if (count <= 1)
			break;
		start = read_once(directory->chunk_start[(low + half) % ABI_MAX_CHUNKS]);
		read ^= start;
		if (start <= pc)
			low += half;
		count -= half;
	}
	key.index += read_before(read);
	return bpf_map_lookup_elem(&mapping_chunks, &key) == directory ? low % ABI_MAX_CHUNKS
								       : ABI_MAX_CHUNKS;
}
