/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Directories: for each unit of code with resident rows, the slot of its chunk
 * (bpf/abi/unwind_maps.h). A directory exists while at least one of its 64 cells is set. A slot
 * holds 15 directories.
 */

#include "agent/paging/slot_pool.h"
#include "common/hash_table.h"

/* Identifies 64 consecutive units of an executable. */
struct directory_key {
	uint64_t number; /* unit / 64 */
	uint32_t executable;
	uint32_t unit_shift;
};

struct directory {
	uint32_t id;
	uint32_t n_cells; /* cells that are set */
};

struct directories {
	struct slot_pool *slots;
	struct hash_table *all; /* struct directory_key -> struct directory */
	struct slot_vec free;   /* IDs of unused directories in slots that hold directories */
	struct slot_vec n_used; /* by slot - UNWIND_RULE_SLOTS: number of directories in use */
	uint32_t n_slots;
};

/* @slots is borrowed. Returns 0 or -ENOMEM. */
int directories_init(struct directories *directories, struct slot_pool *slots);
void directories_release(struct directories *directories);

/*
 * Stores that @slot holds the rows of unit number @unit of @key's 64 units. The directory remains
 * until all its cells are cleared. Returns 0; -ENOSPC if the directory needs a slot and none is
 * free; or another errno of memory or maps.
 */
int directories_set(struct directories *directories, const struct directory_key *key, uint32_t unit,
		    uint32_t slot);

/* Clears the cell of @unit, if it is set to @slot. */
void directories_clear(struct directories *directories, const struct directory_key *key,
		       uint32_t unit, uint32_t slot);

/* The slot with the rows of the address, 0 if they are not resident. */
uint32_t directories_find(const struct directories *directories, uint32_t executable,
			  uint64_t elf_addr);

/* Whether the directory of @key, or its parent directory, is in slot @first_slot or a later one. */
bool directories_lie_behind(const struct directories *directories, const struct directory_key *key,
			    uint32_t first_slot);

/* Call after slot_pool_trim(). */
void directories_trim(struct directories *directories);

/* Returns the element of unwind_regions, or NULL. */
const uint32_t *directories_region(const struct directories *directories, uint64_t region_key);
