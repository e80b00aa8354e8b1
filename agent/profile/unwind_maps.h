/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The BPF maps that hold unwind tables, as this process sees them: three long arrays in memory, and the hash that says
 * where the table of an executable is.
 *
 * The kernel maps a BPF array whole or in part, but always with all its pages at once. So that the agent's memory is
 * that of the tables there are, parts are mapped when something is first written to them; what was never written must
 * not be read.
 */

#include "bpf/abi/unwind_maps.h"
#include "common/base.h"

struct bpf_programs;

/* One of the arrays; elements lie side by side. */
struct unwind_array {
	uint8_t *address;
	uint32_t n; /* elements it holds */
	uint32_t element_bytes;
	int map_fd; /* borrowed */
	bool *mapped; /* each part of UNWIND_PART_BYTES */
};

struct unwind_arrays {
	struct unwind_array rows;  /* struct abi_unwind_row */
	struct unwind_array pages; /* uint32_t: first row of each page */
	struct unwind_array rules; /* struct abi_unwind_rule */
};

/* The parts that are mapped together: each is a mapping of its own, of which the kernel allows 65530. */
#define UNWIND_PART_BYTES ((size_t)(256 * KIB))

/* @map_fd, which must live as long, holds @n_chunks chunks (bpf/abi/unwind_maps.h) of elements. */
int unwind_array_init(int map_fd, uint32_t n_chunks, uint32_t element_bytes, struct unwind_array *ret_array);
void unwind_array_release(struct unwind_array *array);

/* first + count <= n. */
int unwind_array_write(struct unwind_array *array, uint32_t first, const void *elements, uint32_t count);

/* The arrays of the loaded programs, which must outlive them. */
int bpf_programs_unwind_arrays(const struct bpf_programs *programs, struct unwind_arrays *ret_arrays);
void unwind_arrays_release(struct unwind_arrays *arrays);

int bpf_programs_put_unwind_table(struct bpf_programs *programs, uint32_t executable,
				  const struct abi_unwind_info *info);
void bpf_programs_remove_unwind_table(struct bpf_programs *programs, uint32_t executable);
