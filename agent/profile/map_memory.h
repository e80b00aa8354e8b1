/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Kernel memory of BPF maps, as /proc/self/fdinfo has it ("memlock"). A file is read for each map, so maps that never
 * change their size are read once: hash maps and task storage grow with their elements, all others are as large as
 * when they were made.
 */

#include "common/base.h"

struct bpf_map;
struct bpf_object;

struct map_memory {
	/*
	 * Not counted, or NULL: of what is kept of each thread the caller knows the size. Before 6.4 the kernel says
	 * of a hash how large it might become.
	 */
	const struct bpf_map *left_out;
	bool fixed_read;
	uint64_t fixed_bytes; /* of the maps that never change their size */
};

/* All maps of @object, which is loaded and always the same one. Maps that cannot be read count as nothing. */
uint64_t map_memory_read(struct map_memory *memory, const struct bpf_object *object);
