/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Directories: for each unit of code with resident rows the slot of its chunk
 * (bpf/abi/unwind_maps.h). A directory is there while one of its 64 cells is set; 16 of them share
 * a slot.
 */

#include "agent/paging/slot_pool.h"
#include "common/hash_table.h"

/* 64 neighbouring units of an executable. */
struct directory_key {
	uint64_t number; /* unit / 64 */
	uint32_t executable;
	uint32_t unit_shift;
};

struct directory {
	uint32_t id;
	uint32_t n_cells; /* that are set */
};

struct directories {
	struct slot_pool *slots;
	struct hash_table *all; /* struct directory_key -> struct directory */
	struct slot_vec free;   /* ids in slots that are directories' */
	struct slot_vec n_used; /* by slot - UNWIND_RULE_SLOTS: directories in it */
	uint32_t n_slots;
};

/* @slots is borrowed. 0 or -ENOMEM. */
int directories_init(struct directories *directories, struct slot_pool *slots);
void directories_release(struct directories *directories);

/*
 * @unit (ELF address >> @unit_shift) of @executable is in @slot. 0; -ENOSPC: a slot for a directory
 * is needed, and none is free; other errno of memory or maps. Until it is cleared the directory
 * stays.
 */
int directories_set(struct directories *directories, const struct directory_key *key, uint32_t unit,
		    uint32_t slot);

/* If it is in @slot. */
void directories_clear(struct directories *directories, const struct directory_key *key,
		       uint32_t unit, uint32_t slot);

/* The slot with the rows of the address; 0: they are not resident. */
uint32_t directories_find(const struct directories *directories, uint32_t executable,
			  uint64_t elf_addr);

/*
 * Whether the directory of @key, or the directory above it, lies in slot @first_slot or a later
 * one.
 */
bool directories_lie_behind(const struct directories *directories, const struct directory_key *key,
			    uint32_t first_slot);

/* To be called after slot_pool_trim(). */
void directories_trim(struct directories *directories);

/* The element of unwind_regions, or NULL. */
const uint32_t *directories_region(const struct directories *directories, uint64_t region_key);
