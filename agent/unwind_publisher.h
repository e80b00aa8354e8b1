/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Puts unwind tables of executables into the BPF maps: compiled once per executable, or taken from the cache on disk,
 * shared by all processes. When the maps are full, tables of executables that nobody maps any more leave first, then
 * those asked for longest ago.
 */

#include "agent/executable/executable.h"
#include "agent/profile/bpf_programs.h"
#include "agent/profile/unwind_maps.h"
#include "agent/unwind/extents.h"
#include "agent/unwind/table_cache.h"
#include "bpf/host/host_unwind.h"
#include "common/hash_table.h"

struct unwind_publisher {
	struct bpf_programs *programs;
	struct executable_cache *executables;
	struct unwind_arrays arrays;
	struct extents rows, pages, rules;
	struct hash_table *tables; /* uint32_t executable number -> struct published_table */
	struct table_cache *cache; /* NULL: none */
	bool cache_failed;	   /* a table could not be stored, which was logged */
	uint64_t n_compiled, n_cached, n_without, n_failed, n_evicted, compile_ns, cache_ns;
};

struct published_table {
	struct extent rows, pages, rules;
	struct abi_unwind_info info;
	uint64_t asked_ns; /* when a process that maps it was published last */
	bool without;	   /* there is none, or it could not be made: not tried again; the maps have an empty one */
};

int unwind_publisher_init(struct unwind_publisher *publisher, struct bpf_programs *programs,
			  struct executable_cache *executables);

/* Keeps tables in @folder from now on. One that cannot be had is logged, and gone on without. */
void unwind_publisher_use_cache(struct unwind_publisher *publisher, const char *folder, uint64_t max_bytes);
void unwind_publisher_release(struct unwind_publisher *publisher);

/* Makes sure that the table of @executable is there. Failures are counted and leave it to the frame pointer. */
int unwind_publisher_want(struct unwind_publisher *publisher, struct executable *executable, uint64_t now_ns);

/* The tables as the maps hold them, for the unwinder on the host. Valid until the next want. */
void unwind_publisher_view(const struct unwind_publisher *publisher, struct host_unwind_tables *ret_tables);
