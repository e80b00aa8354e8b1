/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Unwind tables of executables, for the BPF maps and for the unwinder on the host.
 *
 * A table is made when the first stack goes through its executable: a file
 * (agent/unwind/table_file.h), taken from the cache on disk, or compiled into it by a helper
 * (agent/publish/table_maker.h). Where there is no cache, or no room on its disk, the file lies in memory.
 * Of the file, chunks are loaded into the maps as stacks need them (agent/paging/paged_rows.h). A
 * stack that needs rows which are not resident comes as a copy (agent/publish/copy_unwinder.h), is unwound
 * here, and on the way unwind_publisher_load() is asked for each chunk that is missing.
 *
 * Used by the agent's main thread.
 */

#include "agent/executable/executable.h"
#include "agent/paging/paged_rows.h"
#include "agent/bpf_programs/bpf_programs.h"
#include "agent/bpf_programs/unwind_maps.h"
#include "agent/publish/table_maker.h"
#include "agent/unwind/table_file.h"
#include "bpf/host/host_unwind.h"
#include "common/hash_table.h"

struct unwind_publisher {
	struct bpf_programs *programs;
	struct executable_cache *executables;
	struct paging_backend backend;
	struct paged_rows rows;
	struct hash_table *tables; /* uint32_t executable number -> struct published_table */
	struct table_maker *maker;
	/* of open table files; above it those leave that no stack used for a while */
	uint64_t max_file_bytes;
	uint64_t file_bytes; /* of open table files */
	uint32_t max_files, n_files;
	uint64_t n_without, n_failed, n_evicted, n_retried;
};

enum table_state {
	/* there is none, or it could not be made: frames are left to frame pointers */
	TABLE_NONE,
	TABLE_MAKING, /* helpers make it; stacks that need it should wait */
	TABLE_READY,  /* the file is open */
};

struct published_table {
	enum table_state state;
	struct table_file file; /* READY */
	/* READY: all zero, or it may lie in the cache under this key */
	struct hash128 key;
	struct abi_unwind_info info; /* as in the maps */
	/* when a stack last went through it, as abi_unwind_chunk.used */
	uint32_t used;
	/* NONE: then the next stack has it made again (monotonic); UINT64_MAX: never */
	uint64_t retry_at_ns;
};

/* @unwind_bytes: as the programs were loaded with. 0 or negative errno. */
int unwind_publisher_init(struct unwind_publisher *publisher, struct bpf_programs *programs,
			  struct executable_cache *executables, struct helper_pool *helpers,
			  uint64_t unwind_bytes);

/*
 * Keeps tables in @folder from now on, where they take up to @max_bytes. A folder that cannot be
 * had is logged, and gone on without: then table files lie in memory, up to @max_bytes too.
 */
void unwind_publisher_use_cache(struct unwind_publisher *publisher, const char *folder,
				uint64_t max_bytes);
void unwind_publisher_release(struct unwind_publisher *publisher);

/*
 * Makes the rows at an address of executable @number resident, and has its table made if it is not
 * yet. 1: a lookup of the address has another result now; 0: it has the same, because the rows were
 * resident, do not exist or cannot be loaded; -EINPROGRESS: the table is being made, call again
 * when unwind_publisher_is_making() is false.
 */
int unwind_publisher_load(struct unwind_publisher *publisher, uint32_t number, uint64_t elf_addr);

bool unwind_publisher_is_making(const struct unwind_publisher *publisher, uint32_t number);

/*
 * Removes tables of executables that are gone, tables beyond the bounds, and the note that a table
 * could not be made, once it may be made again. To be called about once per batch.
 */
void unwind_publisher_tidy(struct unwind_publisher *publisher);

/* The maps as the unwinder on the host reads them. Valid until the publisher is released. */
void unwind_publisher_view(struct unwind_publisher *publisher,
			   struct host_unwind_tables *ret_tables);
