/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Kernel memory of BPF maps, from the line "memlock" of /proc/self/fdinfo/FD. Hash maps and task
 * storage grow with their elements, so they are read each time. All other maps have a fixed size;
 * it is read once, which saves reading one file for each map.
 */

#include "common/base.h"

struct bpf_object;
struct bpf_program_choice;

struct map_memory {
	/* Sets with maps that are skipped: bpf_map_row.left_out. */
	const struct bpf_program_choice *choices;
	size_t n_choices;
	bool fixed_read;
	uint64_t fixed_bytes; /* sum of the maps with a fixed size */
};

/*
 * Bytes of all maps of @object, which must be loaded. Pass the same object in each call. A map that
 * cannot be read counts as 0.
 */
uint64_t map_memory_read(struct map_memory *memory, const struct bpf_object *object);
