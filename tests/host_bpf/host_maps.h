/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What the agent would have put into the BPF maps, in plain memory: all chunks of the executables'
 * tables in a pool, and the mappings of one process in chunks.
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

/* All zero: no tables, and a process without mappings. */
void host_maps_release(struct host_maps *maps);

/* All of the table of @executable (> 0) becomes resident. 0 or -ENOMEM. */
int host_maps_add_table(struct host_maps *maps, uint32_t executable,
			const struct unwind_table *table);

/*
 * Compiles the table of the ELF file first. 1 added, 0 it has no call frame information, negative
 * errno.
 */
int host_maps_add_elf(struct host_maps *maps, uint32_t executable, const struct elf_file *elf);

/* The mappings of the process, by rising start. 0, -ENOMEM, -E2BIG: more than the chunks hold. */
int host_maps_set_mappings(struct host_maps *maps, const struct abi_mapping *mappings,
			   size_t n_mappings);

/*
 * Hands the maps to a run; they are borrowed. Registers, memory and configuration are left to the
 * caller.
 */
void host_maps_describe(struct host_maps *maps, struct host_unwind_input *input);
