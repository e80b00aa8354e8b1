/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Puts unwind tables of executables into the BPF maps: compiled once per executable, or taken from the cache on disk,
 * shared by all processes. When the maps are full, those leave that no sample went through for longest; one that is in
 * use never does: where all are, a new one has to wait, instead of all taking turns and none being there when needed.
 * And none leaves for an executable that is mapped, but that no sample has asked for.
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
	uint64_t in_use_ns;	   /* so long after a sample went through a table it is in use */
	bool is_full;		   /* the last table that no sample had asked for did not fit */
	uint64_t n_compiled, n_cached, n_without, n_failed, n_evicted, compile_ns, cache_ns;
};

struct published_table {
	struct extent rows, pages, rules;
	struct abi_unwind_info info;
	uint64_t made_ns;
	uint64_t used_ns; /* when a sample last went through it, 0 never */
	bool without;	  /* there is none, or it could not be made: not tried again; the maps have an empty one */
	bool waits;	  /* without, as there was no room: tried again after unwind_publisher_ask_again() */
};

int unwind_publisher_init(struct unwind_publisher *publisher, struct bpf_programs *programs,
			  struct executable_cache *executables, uint64_t in_use_ns);

/* Keeps tables in @folder from now on. One that cannot be had is logged, and gone on without. */
void unwind_publisher_use_cache(struct unwind_publisher *publisher, const char *folder, uint64_t max_bytes);
void unwind_publisher_release(struct unwind_publisher *publisher);

/*
 * Puts the table of @executable into the maps, if there is room: else the first stack that needs it makes some.
 * Failures are counted and leave it to the frame pointer.
 */
int unwind_publisher_want(struct unwind_publisher *publisher, struct executable *executable, uint64_t now_ns);

/* A sample went through executable @number. */
void unwind_publisher_used(struct unwind_publisher *publisher, uint32_t number, uint64_t now_ns);

/* Whatever had to wait for room is asked for again by the next sample that needs it. To be called now and then. */
void unwind_publisher_ask_again(struct unwind_publisher *publisher);

/*
 * The tables as the maps hold them, for the unwinder on the host: one that it asks for and that is not there is made,
 * and others leave for it. Valid until the next want.
 */
void unwind_publisher_view(struct unwind_publisher *publisher, struct host_unwind_tables *ret_tables);
