/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Kernel memory of BPF maps, from the line "memlock" of /proc/self/fdinfo/FD. Hash maps and task
 * storage grow with their elements, and are read each time. The size of all other maps never
 * changes, so it is read once, which saves reading a file for each.
 */

#include "common/base.h"

struct bpf_map;
struct bpf_object;

struct map_memory {
	/*
	 * A map that is not counted, or NULL: the hash map of threads. The caller computes its
	 * size, because before 6.4 the kernel reports the size that a hash map would have with all
	 * its elements.
	 */
	const struct bpf_map *left_out;
	bool fixed_read;
	uint64_t fixed_bytes; /* of the maps that never change their size */
};

/*
 * Bytes of all maps of @object, which must be loaded and the same in each call. A map that cannot
 * be read counts as 0.
 */
uint64_t map_memory_read(struct map_memory *memory, const struct bpf_object *object);
