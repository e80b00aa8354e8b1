/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The directories of bpf/abi/unwind_maps.h: for each unit of code with resident rows they hold the
 * slot of its chunk. A directory of pieces (units of 64 bytes) is referred to by a cell of its
 * parent, the directory of code pages; a directory of code pages is referred to by unwind_regions.
 * A directory exists while at least one of its 64 cells is set. A slot holds 15 directories.
 */

#include "agent/paging/slot_pool.h"
#include "common/hash_table.h"

/* Identifies 64 consecutive units of an executable. */
struct directory_key {
	uint64_t number; /* number of the first unit / 64 */
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
 * Sets the cell of @unit (0 to 63) in the directory @key to @slot. Adds the directory if it does
 * not exist. Returns 0; -ENOSPC if a new directory needs a slot and none is free; -ENOMEM; or an
 * errno of changing unwind_regions.
 */
int directories_set(struct directories *directories, const struct directory_key *key, uint32_t unit,
		    uint32_t slot);

/* Clears the cell of @unit, if it is set to @slot. */
void directories_clear(struct directories *directories, const struct directory_key *key,
		       uint32_t unit, uint32_t slot);

/* Returns the slot with the rows of @elf_addr, or 0 if they are not resident. */
uint32_t directories_find(const struct directories *directories, uint32_t executable,
			  uint64_t elf_addr);

/* Returns whether the directory @key, or its parent, is in slot @first_slot or a later slot. */
bool directories_use_slots_from(const struct directories *directories,
				const struct directory_key *key, uint32_t first_slot);

/* Forgets the slots that slot_pool_trim() has removed. Call it after slot_pool_trim(). */
void directories_trim(struct directories *directories);

/* Returns the value that unwind_regions has for @region_key, or NULL if it has none. */
const uint32_t *directories_region(const struct directories *directories, uint64_t region_key);
