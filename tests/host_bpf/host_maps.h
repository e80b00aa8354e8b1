/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The content that the agent writes to the BPF maps, in plain memory: all chunks of the
 * executables' tables in a pool, and the mappings of one process in chunks.
 */

#include "agent/paging/paged_rows.h"
#include "agent/unwind/table/unwind_table.h"
#include "bpf/host/host_unwind.h"
#include "common/vec.h"

VEC_DEFINE(host_info_vec, struct abi_unwind_info);
VEC_DEFINE(host_chunk_vec, struct abi_mapping_chunk);
VEC_DEFINE(host_mapping_vec, struct abi_mapping);

#define HOST_MAPS_PID        1234u
#define HOST_MAPS_SET        77u
#define HOST_MAPS_EXEC_COUNT 3u
#define HOST_MAPS_START_NS   (UINT64_C(5) * NSEC_PER_SEC)

struct host_maps {
	struct paging_backend backend;
	struct paged_rows rows;
	bool is_ready;              /* rows were initialized */
	struct host_info_vec infos; /* by executable number; n_pages 0: no table */
	struct host_chunk_vec chunks;
	struct abi_mapping_chunk directory;
	struct abi_process process;
	struct host_unwind_tables tables;
};

/* Initialize with zeros: no tables, and a process without mappings. */
void host_maps_release(struct host_maps *maps);

/* Makes the whole table of @executable (> 0) resident. Returns 0 or -ENOMEM. */
int host_maps_add_table(struct host_maps *maps, uint32_t executable,
			const struct unwind_table *table);

/*
 * Compiles the table of the ELF file and adds it. Returns 1, 0 if the file has no call frame
 * information, or a negative errno.
 */
int host_maps_add_elf(struct host_maps *maps, uint32_t executable, const struct elf_file *elf);

/*
 * Sets the mappings of the process, sorted by start. Returns 0, -ENOMEM, or -E2BIG if the chunks
 * cannot hold them.
 */
int host_maps_set_mappings(struct host_maps *maps, const struct abi_mapping *mappings,
			   size_t n_mappings);

/*
 * Sets the maps in the input of a run; they are borrowed. The caller sets registers, memory and
 * configuration.
 */
void host_maps_describe(struct host_maps *maps, struct host_unwind_input *input);
