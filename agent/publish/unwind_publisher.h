/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Publishes unwind tables of executables to the BPF maps and to the unwinder on the host.
 *
 * The publisher has a table made when the first stack contains a frame in its executable. A table
 * is a file (agent/unwind/table/table_file.h): it is in the cache on disk, or a helper compiles it
 * (agent/publish/table_maker.h). Without a cache, or when its disk is full, the file is in memory.
 *
 * The publisher loads chunks of the file into the maps when stacks need them
 * (agent/paging/paged_rows.h). If a stack needs rows that are not resident, the kernel sends a copy
 * of it. The copy is unwound by the agent (agent/publish/copy_unwinder.h), which calls
 * unwind_publisher_load() for each missing chunk.
 *
 * Used by the agent's main thread.
 */

#include "agent/executable/executable.h"
#include "agent/paging/paged_rows.h"
#include "agent/bpf_programs/bpf_programs.h"
#include "agent/bpf_programs/unwind_maps.h"
#include "agent/publish/table_maker.h"
#include "agent/unwind/table/table_file.h"
#include "bpf/host/host_unwind.h"
#include "common/hash_table.h"

struct unwind_publisher {
	struct bpf_programs *programs;
	struct executable_cache *executables;
	struct paging_backend backend;
	struct paged_rows rows;
	struct hash_table *tables; /* uint32_t executable number -> struct published_table */
	struct table_maker *maker;
	const struct clock *clock;
	uint64_t file_bytes;         /* of open table files */
	uint64_t max_file_bytes;     /* above it, files of tables that no stack used are closed */
	uint32_t n_files, max_files; /* open table files */
	uint64_t n_without, n_failed, n_evicted, n_retried; /* tables, see agent/metrics.def */
};

enum table_state {
	/* the executable has none, or it could not be made: its frames use frame pointers */
	TABLE_NONE,
	TABLE_MAKING, /* helpers make it; stacks that need it should wait */
	TABLE_READY,  /* the file is open */
};

struct published_table {
	enum table_state state;
	struct table_file file;      /* READY */
	struct hash128 key;          /* READY: of the file in the cache; all zero: none there */
	struct abi_unwind_info info; /* as in the maps */
	uint32_t used;               /* last use by a stack, as abi_unwind_chunk.used */
	/* NONE: from then on a stack may have it made again (monotonic); UINT64_MAX: never */
	uint64_t retry_at_ns;
};

/* All pointers are borrowed until the release. */
struct unwind_publisher_options {
	struct bpf_programs *programs;
	struct executable_cache *executables;
	struct helper_pool *helpers;
	const struct clock *clock;
	uint64_t unwind_bytes; /* the programs were loaded with this size */
	/*
	 * Table files are kept in this folder. If it is "" or cannot be used, which is logged, the
	 * files are in memory.
	 */
	const char *cache_folder;
	struct unwind_options unwind;
	uint64_t cache_bytes; /* size of all table files, in the folder or in memory */
};

/* 0 or negative errno. */
int unwind_publisher_init(struct unwind_publisher *publisher,
			  const struct unwind_publisher_options *options);
void unwind_publisher_release(struct unwind_publisher *publisher);

/*
 * Makes the rows at an address of executable @number resident. Has the table made if there is none
 * yet. 1: a lookup of the address has another result now; 0: it has the same result, because the
 * rows were resident, do not exist or cannot be loaded; -EINPROGRESS: the table is being made, call
 * again when unwind_publisher_is_making() is false.
 */
int unwind_publisher_load(struct unwind_publisher *publisher, uint32_t number, uint64_t elf_addr);

bool unwind_publisher_is_making(const struct unwind_publisher *publisher, uint32_t number);

/*
 * Removes tables of executables that were forgotten, and tables above the bounds. Forgets failures
 * that may be retried now. To be called about once per batch.
 */
void unwind_publisher_tidy(struct unwind_publisher *publisher);

/* The maps as the unwinder on the host reads them. Valid until the publisher is released. */
void unwind_publisher_view(struct unwind_publisher *publisher,
			   struct host_unwind_tables *ret_tables);
