/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Kernel memory of BPF maps, from the line "memlock" of /proc/self/fdinfo/FD. Hash maps and task
 * storage grow with their elements, so they are read each time. All other maps have a fixed size;
 * it is read once, which saves reading one file for each map.
 */

#include "common/base.h"

struct bpf_map;
struct bpf_object;

struct map_memory {
	/*
	 * A map to be skipped, or NULL. The agent skips the hash map of threads and computes its
	 * size itself, because before 6.4 the kernel reports the size that a hash map would have
	 * with all its elements.
	 */
	const struct bpf_map *left_out;
	bool fixed_read;
	uint64_t fixed_bytes; /* sum of the maps with a fixed size */
};

/*
 * Bytes of all maps of @object, which must be loaded. Pass the same object in each call. A map that
 * cannot be read counts as 0.
 */
uint64_t map_memory_read(struct map_memory *memory, const struct bpf_object *object);
