/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/paging/directories.h"

#include <assert.h>
#include <string.h>

#define PER_SLOT (1u << UNWIND_DIRECTORY_SHIFT)

int directories_init(struct directories *directories, struct slot_pool *slots)
{
	*directories = (struct directories){ .slots = slots };
	return hash_table_new(sizeof(struct directory_key), sizeof(struct directory), 0,
			      &directories->all);
}

void directories_release(struct directories *directories)
{
	directories->all = hash_table_free(directories->all);
	vec_release(&directories->free);
	vec_release(&directories->n_used);
}

static uint32_t *cells_of(const struct directories *directories, uint32_t id)
{
	struct abi_unwind_slot *slot =
		slot_pool_at(directories->slots, id >> UNWIND_DIRECTORY_SHIFT);

	return &slot->cells[(id & (PER_SLOT - 1)) * UNWIND_CELLS];
}

/* ---- numbers of directories ---- */

static uint32_t *use_of(struct directories *directories, uint32_t id)
{
	return &directories->n_used.items[(id >> UNWIND_DIRECTORY_SHIFT) - UNWIND_RULE_SLOTS];
}

/* Turns a free slot into 15 free directories. */
static int add_slot(struct directories *directories)
{
	uint32_t slot;
	int r;

	r = vec_reserve(&directories->free, (directories->n_slots + 1) * PER_SLOT);
	if (r < 0)
		return r;
	while (directories->n_used.count < directories->slots->end_slot - UNWIND_RULE_SLOTS) {
		r = vec_push(&directories->n_used, 0);
		if (r < 0)
			return r;
	}
	slot = slot_pool_take(directories->slots);
	if (!slot)
		return -ENOSPC;
	directories->n_slots++;
	/*
	 * The bytes where a chunk has its owner and range stay 0, so that readers cannot take cells
	 * for a chunk.
	 */
	memset(slot_pool_at(directories->slots, slot), 0, UNWIND_CELLS * sizeof(uint32_t));
	for (uint32_t i = PER_SLOT; i-- > 1;)
		directories->free.items[directories->free.count++] =
			slot << UNWIND_DIRECTORY_SHIFT | i;
	return 0;
}

static int take_id(struct directories *directories, uint32_t *ret_id)
{
	int r = directories->free.count > 0 ? 0 : add_slot(directories);

	if (r < 0)
		return r;
	*ret_id = directories->free.items[--directories->free.count];
	(*use_of(directories, *ret_id))++;
	memset(cells_of(directories, *ret_id), 0, UNWIND_CELLS * sizeof(uint32_t));
	return 0;
}

/* Returns a directory. When the last directory of a slot is returned, the slot becomes free. */
static void give_back_id(struct directories *directories, uint32_t id)
{
	uint32_t slot = id >> UNWIND_DIRECTORY_SHIFT;
	size_t kept = 0;

	directories->free.items[directories->free.count++] = id;
	if (--*use_of(directories, id) > 0)
		return;
	for (size_t i = 0; i < directories->free.count; i++)
		if (directories->free.items[i] >> UNWIND_DIRECTORY_SHIFT != slot)
			directories->free.items[kept++] = directories->free.items[i];
	directories->free.count = kept;
	directories->n_slots--;
	slot_pool_give_back(directories->slots, slot);
}

/* ---- directories ---- */

/* A directory of pieces covers one code page, which is one unit of its parent directory. */
static struct directory_key parent_of(const struct directory_key *key)
{
	return (struct directory_key){ .executable = key->executable,
				       .unit_shift = UNWIND_PAGE_SHIFT,
				       .number = key->number / UNWIND_CELLS };
}

static uint64_t region_of(const struct directory_key *key)
{
	return UNWIND_REGION_KEY(key->executable, key->number << UNWIND_REGION_SHIFT);
}

/* Makes the directory visible to readers. */
static int link_directory(struct directories *directories, const struct directory_key *key,
			  uint32_t id)
{
	const struct paging_backend *backend = directories->slots->backend;
	struct directory_key parent = parent_of(key);

	if (key->unit_shift == UNWIND_PAGE_SHIFT)
		return backend->put_region(backend->arg, region_of(key), id);
	return directories_set(directories, &parent, (uint32_t)(key->number % UNWIND_CELLS),
			       UNWIND_CELL_DIRECTORY | id);
}

static void unlink_directory(struct directories *directories, const struct directory_key *key,
			     uint32_t id)
{
	const struct paging_backend *backend = directories->slots->backend;
	struct directory_key parent = parent_of(key);

	if (key->unit_shift == UNWIND_PAGE_SHIFT)
		backend->remove_region(backend->arg, region_of(key));
	else
		directories_clear(directories, &parent, (uint32_t)(key->number % UNWIND_CELLS),
				  UNWIND_CELL_DIRECTORY | id);
}

static int add_directory(struct directories *directories, const struct directory_key *key,
			 struct directory **ret_directory)
{
	uint32_t id;
	void *value;
	int r;

	r = take_id(directories, &id);
	if (r < 0)
		return r;
	r = link_directory(directories, key, id);
	if (r < 0) {
		give_back_id(directories, id);
		return r;
	}
	r = hash_table_insert(directories->all, key, &value);
	if (r < 0) {
		unlink_directory(directories, key, id);
		give_back_id(directories, id);
		return r;
	}
	*ret_directory = value;
	**ret_directory = (struct directory){ .id = id };
	return 0;
}

static void set_cell(const struct directories *directories, uint32_t id, uint32_t unit,
		     uint32_t value)
{
	__atomic_store_n(&cells_of(directories, id)[unit], value, __ATOMIC_RELEASE);
}

int directories_set(struct directories *directories, const struct directory_key *key, uint32_t unit,
		    uint32_t slot)
{
	struct directory *directory = hash_table_find(directories->all, key);
	int r;

	assert(unit < UNWIND_CELLS && slot != 0);
	if (!directory) {
		r = add_directory(directories, key, &directory);
		if (r < 0)
			return r;
	}
	directory->n_cells += cells_of(directories, directory->id)[unit] == 0;
	set_cell(directories, directory->id, unit, slot);
	return 0;
}

void directories_clear(struct directories *directories, const struct directory_key *key,
		       uint32_t unit, uint32_t slot)
{
	struct directory *directory = hash_table_find(directories->all, key);
	uint32_t id;

	if (!directory || cells_of(directories, directory->id)[unit] != slot)
		return;
	id = directory->id;
	set_cell(directories, id, unit, 0);
	if (--directory->n_cells > 0)
		return;
	(void)hash_table_remove(directories->all, key);
	unlink_directory(directories, key, id);
	give_back_id(directories, id);
}

static uint32_t find_cell(const struct directories *directories, uint32_t executable,
			  uint32_t unit_shift, uint64_t elf_addr)
{
	uint64_t unit = elf_addr >> unit_shift;
	struct directory_key key = { .number = unit / UNWIND_CELLS,
				     .executable = executable,
				     .unit_shift = unit_shift };
	const struct directory *directory = hash_table_find(directories->all, &key);

	return directory ? cells_of(directories, directory->id)[unit % UNWIND_CELLS] : 0;
}

uint32_t directories_find(const struct directories *directories, uint32_t executable,
			  uint64_t elf_addr)
{
	uint32_t cell = find_cell(directories, executable, UNWIND_PAGE_SHIFT, elf_addr);

	return cell & UNWIND_CELL_DIRECTORY
		       ? find_cell(directories, executable, UNWIND_DENSE_UNIT_SHIFT, elf_addr)
		       : cell;
}

static bool uses_slots_from(const struct directories *directories, const struct directory_key *key,
			    uint32_t first_slot)
{
	const struct directory *directory = hash_table_find(directories->all, key);

	return directory && directory->id >> UNWIND_DIRECTORY_SHIFT >= first_slot;
}

bool directories_use_slots_from(const struct directories *directories,
				const struct directory_key *key, uint32_t first_slot)
{
	struct directory_key parent = parent_of(key);

	if (uses_slots_from(directories, key, first_slot))
		return true;
	return key->unit_shift != UNWIND_PAGE_SHIFT &&
	       uses_slots_from(directories, &parent, first_slot);
}

void directories_trim(struct directories *directories)
{
	directories->n_used.count = MIN(directories->n_used.count,
					(size_t)(directories->slots->end_slot - UNWIND_RULE_SLOTS));
}

const uint32_t *directories_region(const struct directories *directories, uint64_t region_key)
{
	struct directory_key key = { .number = (uint32_t)region_key,
				     .executable = (uint32_t)(region_key >> 32),
				     .unit_shift = UNWIND_PAGE_SHIFT };
	const struct directory *directory = hash_table_find(directories->all, &key);

	return directory ? &directory->id : NULL;
}
