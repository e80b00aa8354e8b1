/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/paging/paged_rows.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/scoped.h"

int paged_rows_init(struct paged_rows *rows, const struct paging_backend *backend,
		    uint32_t max_parts, uint32_t max_rules)
{
	int r;

	*rows = (struct paged_rows){};
	r = slot_pool_init(&rows->slots, backend, max_parts);
	if (r < 0)
		return r;
	r = rule_pool_init(&rows->rules, &rows->slots, max_rules);
	if (r < 0)
		return r;
	return directories_init(&rows->directories, &rows->slots);
}

void paged_rows_release(struct paged_rows *rows)
{
	slot_pool_release(&rows->slots);
	rule_pool_release(&rows->rules);
	directories_release(&rows->directories);
	vec_release(&rows->resident);
	vec_release(&rows->oldest);
	vec_release(&rows->churning);
}

static struct abi_unwind_chunk *chunk_at(const struct paged_rows *rows, uint32_t slot)
{
	return &slot_pool_at(&rows->slots, slot)->chunk;
}

static struct resident_slot *resident_at(const struct paged_rows *rows, uint32_t slot)
{
	return &rows->resident.items[slot - UNWIND_RULE_SLOTS];
}

static uint32_t used_in(const struct paged_rows *rows, uint32_t slot)
{
	return __atomic_load_n(&chunk_at(rows, slot)->used, __ATOMIC_RELAXED);
}

/*
 * Ticks since the chunk was last used. Negative if a stack in the kernel has used it later than
 * rows->now.
 */
static int32_t age_of(const struct paged_rows *rows, uint32_t slot)
{
	return (int32_t)(rows->now - used_in(rows, slot));
}

/* ---- eviction ---- */

static struct directory_key key_of(const struct abi_unwind_chunk *chunk, uint32_t executable,
				   uint64_t unit)
{
	return (struct directory_key){ .number = unit / UNWIND_CELLS,
				       .executable = executable,
				       .unit_shift = chunk->unit_shift };
}

static void clear_cells(struct paged_rows *rows, uint32_t slot, uint32_t executable,
			uint32_t n_units)
{
	const struct abi_unwind_chunk *chunk = chunk_at(rows, slot);

	for (uint32_t i = 0; i < n_units; i++) {
		uint64_t unit = chunk->first_unit + i;
		struct directory_key key = key_of(chunk, executable, unit);

		directories_clear(&rows->directories, &key, (uint32_t)(unit % UNWIND_CELLS), slot);
	}
}

/* Readers see writes after this call only after they see that the chunk has no owner. */
static void disown(struct abi_unwind_chunk *chunk)
{
	__atomic_store_n(&chunk->owner, 0, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
}

static void drop_rules(struct paged_rows *rows, const struct abi_unwind_chunk *chunk)
{
	uint32_t first = chunk->halves[UNWIND_CHUNK_FIRST_HALF];
	uint32_t end = chunk->halves[UNWIND_CHUNK_FIRST_HALF + chunk->n_units];

	for (uint32_t row = first; row < end; row++)
		rule_pool_drop(&rows->rules, chunk->rows[row].rule);
}

static void evict(struct paged_rows *rows, uint32_t slot)
{
	struct abi_unwind_chunk *chunk = chunk_at(rows, slot);
	struct resident_slot *resident = resident_at(rows, slot);

	clear_cells(rows, slot, resident->executable, chunk->n_units);
	disown(chunk);
	drop_rules(rows, chunk);
	rows->n_rows -= resident->n_rows;
	rows->n_chunks--;
	rows->n_evicted++;
	*resident = (struct resident_slot){};
	slot_pool_give_back(&rows->slots, slot);
}

static bool is_chunk(const struct paged_rows *rows, uint32_t slot)
{
	return slot - UNWIND_RULE_SLOTS < rows->resident.count &&
	       resident_at(rows, slot)->executable != 0;
}

struct aged_slot {
	uint32_t slot;
	int32_t age;
};

static int compare_ages(const void *left, const void *right)
{
	const struct aged_slot *a = left, *b = right;

	if (a->age != b->age)
		return a->age < b->age ? -1 : 1;
	return a->slot < b->slot ? -1 : a->slot > b->slot;
}

/* Reads each age once, because readers change them. The list is empty if there is no memory. */
static void list_oldest(struct paged_rows *rows)
{
	scoped_free struct aged_slot *aged =
		malloc(MAX(rows->resident.count, (size_t)1) * sizeof(*aged));
	size_t n = 0;

	rows->oldest.count = 0;
	rows->listed = rows->now;
	if (!aged || vec_reserve(&rows->oldest, rows->resident.count) < 0)
		return;
	for (uint32_t i = 0; i < rows->resident.count; i++) {
		uint32_t slot = UNWIND_RULE_SLOTS + i;

		if (!is_chunk(rows, slot))
			continue;
		aged[n] = (struct aged_slot){ .slot = slot, .age = age_of(rows, slot) };
		n += aged[n].age >= PAGED_ROWS_IDLE_TICKS;
	}
	qsort(aged, n, sizeof(*aged), compare_ages);
	for (size_t i = 0; i < n; i++)
		rows->oldest.items[rows->oldest.count++] = aged[i].slot;
}

/* Evicts the chunk that was not used for the longest time, if that is at least @min_age ticks. */
static bool evict_oldest(struct paged_rows *rows, int32_t min_age)
{
	if (rows->oldest.count == 0 && rows->listed != rows->now)
		list_oldest(rows);
	while (rows->oldest.count > 0) {
		uint32_t slot = rows->oldest.items[rows->oldest.count - 1];

		/* The chunk may have been used or evicted since the list was made. */
		if (is_chunk(rows, slot) && age_of(rows, slot) >= PAGED_ROWS_IDLE_TICKS) {
			if (age_of(rows, slot) < min_age)
				return false;
			evict(rows, slot);
			rows->oldest.count--;
			return true;
		}
		rows->oldest.count--;
	}
	return false;
}

static uint32_t max_churning(const struct paged_rows *rows)
{
	uint32_t n_slots = rows->slots.end_slot - UNWIND_RULE_SLOTS;

	return MIN(MAX(n_slots / PAGED_ROWS_CHURN_FRACTION, PAGED_ROWS_MIN_CHURN),
		   PAGED_ROWS_MAX_CHURN);
}

/*
 * Chooses a chunk to be added to the churn ring, starting after the previous choice. 0 if there is
 * none.
 */
static uint32_t slot_to_churn(struct paged_rows *rows)
{
	uint32_t n_slots = rows->slots.end_slot - UNWIND_RULE_SLOTS;

	for (uint32_t i = 0; i < n_slots; i++) {
		uint32_t slot = UNWIND_RULE_SLOTS + rows->churn_hand++ % n_slots;

		if (is_chunk(rows, slot))
			return slot;
	}
	return 0;
}

/* Evicts a chunk of the churn ring. Its slot becomes free and is the next one to be taken. */
static bool evict_churning(struct paged_rows *rows)
{
	uint32_t *slot;

	if (rows->churning.count < max_churning(rows)) {
		if (vec_push(&rows->churning, slot_to_churn(rows)) < 0)
			return false;
		slot = &rows->churning.items[rows->churning.count - 1];
	} else {
		slot = &rows->churning.items[rows->next_churning++ % rows->churning.count];
	}
	/* The slot may hold directories now. */
	if (!is_chunk(rows, *slot))
		*slot = slot_to_churn(rows);
	if (*slot == 0)
		return false;
	evict(rows, *slot);
	rows->n_churned++;
	return true;
}

/* Makes sure that a slot is free. Returns 0, -ENOSPC, or another negative errno. */
static int need_slot(struct paged_rows *rows)
{
	int r;

	if (rows->slots.free.count > 0 || evict_oldest(rows, PAGED_ROWS_STALE_TICKS))
		return 0;
	r = slot_pool_grow(&rows->slots);
	if (r > 0)
		return 0;
	if (evict_oldest(rows, PAGED_ROWS_IDLE_TICKS) || evict_churning(rows))
		return 0;
	return r < 0 ? r : -ENOSPC;
}

/* ---- loading ---- */

static int note_slots(struct paged_rows *rows)
{
	while (rows->resident.count < rows->slots.end_slot - UNWIND_RULE_SLOTS) {
		int r = vec_push(&rows->resident, (struct resident_slot){});

		if (r < 0)
			return r;
	}
	return 0;
}

/* Replaces the record's rule numbers in the rows by the numbers of the rules in the pool. */
static uint32_t number_rules(struct paged_rows *rows, const struct chunk_record *record,
			     struct abi_unwind_chunk *chunk)
{
	uint32_t first = chunk->halves[UNWIND_CHUNK_FIRST_HALF];
	uint32_t end = chunk->halves[UNWIND_CHUNK_FIRST_HALF + chunk->n_units];
	uint32_t n_rows[CHUNK_MAX_RULES] = {};
	uint16_t numbers[CHUNK_MAX_RULES];

	for (uint32_t row = first; row < end; row++)
		n_rows[chunk->rows[row].rule]++;
	for (uint32_t i = 0; i < record->n_rules; i++)
		numbers[i] = n_rows[i] > 0
				     ? rule_pool_take(&rows->rules, &record->rules[i], n_rows[i])
				     : 0;
	for (uint32_t row = first; row < end; row++)
		chunk->rows[row].rule = numbers[chunk->rows[row].rule];
	return end - first;
}

/* Readers accept the slot's content after the last statement. */
static void publish(struct paged_rows *rows, uint32_t slot, uint32_t executable,
		    const struct chunk_record *record)
{
	struct abi_unwind_chunk *chunk = chunk_at(rows, slot);
	struct abi_unwind_chunk copy = record->chunk;
	uint32_t n_rows = number_rules(rows, record, &copy);

	copy.owner = 0;
	copy.used = rows->now;
	/*
	 * The slot may have held another chunk. Readers must not see its owner with the new rows.
	 */
	disown(chunk);
	memcpy(chunk, &copy, sizeof(copy));
	*resident_at(rows, slot) =
		(struct resident_slot){ .executable = executable, .n_rows = n_rows };
	rows->n_chunks++;
	rows->n_rows += n_rows;
	rows->n_loaded++;
	__atomic_store_n(&chunk->owner, (uint64_t)executable << 32 | ++rows->generation,
			 __ATOMIC_RELEASE);
}

/* Directories need slots too. Another chunk may be evicted for them, but not this one. */
static int set_cell(struct paged_rows *rows, uint32_t slot, uint32_t executable, uint64_t unit)
{
	struct directory_key key = key_of(chunk_at(rows, slot), executable, unit);
	uint32_t cell = (uint32_t)(unit % UNWIND_CELLS);
	int r;

	r = directories_set(&rows->directories, &key, cell, slot);
	if (r != -ENOSPC)
		return r;
	r = need_slot(rows);
	if (r < 0)
		return r;
	if (!is_chunk(rows, slot))
		return -ENOSPC;
	return directories_set(&rows->directories, &key, cell, slot);
}

static int set_cells(struct paged_rows *rows, uint32_t slot, uint32_t executable)
{
	const struct abi_unwind_chunk *chunk = chunk_at(rows, slot);

	for (uint32_t i = 0; i < chunk->n_units; i++) {
		int r = set_cell(rows, slot, executable, chunk->first_unit + i);

		if (r < 0)
			return r;
	}
	return 0;
}

int paged_rows_load(struct paged_rows *rows, uint32_t executable, const struct chunk_record *record)
{
	uint32_t slot;
	int r;

	assert(executable != 0);
	r = need_slot(rows);
	if (r < 0)
		return r;
	r = note_slots(rows);
	if (r < 0)
		return r;
	slot = slot_pool_take(&rows->slots);
	publish(rows, slot, executable, record);
	r = set_cells(rows, slot, executable);
	if (r < 0 && is_chunk(rows, slot))
		evict(rows, slot);
	return r;
}

bool paged_rows_find(const struct paged_rows *rows, uint32_t executable, uint64_t elf_addr)
{
	return directories_find(&rows->directories, executable, elf_addr) != 0;
}

void paged_rows_unload(struct paged_rows *rows, uint32_t executable)
{
	for (uint32_t i = 0; i < rows->resident.count; i++)
		if (rows->resident.items[i].executable == executable)
			evict(rows, UNWIND_RULE_SLOTS + i);
}

/* ---- maximum size ---- */

/* Whether the chunk in @slot, or one of its directories, is in slot @first_slot or a later one. */
static bool needs_slots_from(const struct paged_rows *rows, uint32_t slot, uint32_t first_slot)
{
	const struct abi_unwind_chunk *chunk = chunk_at(rows, slot);
	uint32_t executable = resident_at(rows, slot)->executable;

	if (slot >= first_slot)
		return true;
	for (uint32_t i = 0; i < chunk->n_units; i++) {
		struct directory_key key = key_of(chunk, executable, chunk->first_unit + i);

		if (directories_use_slots_from(&rows->directories, &key, first_slot))
			return true;
	}
	return false;
}

void paged_rows_limit(struct paged_rows *rows, uint32_t n_parts)
{
	uint32_t first_slot = slot_pool_limit(&rows->slots, n_parts);

	if (first_slot >= rows->slots.end_slot)
		return;
	for (uint32_t i = 0; i < rows->resident.count; i++) {
		uint32_t slot = UNWIND_RULE_SLOTS + i;

		if (is_chunk(rows, slot) && needs_slots_from(rows, slot, first_slot))
			evict(rows, slot);
	}
	slot_pool_trim(&rows->slots);
	directories_trim(&rows->directories);
	rows->resident.count = MIN(rows->resident.count, (size_t)(first_slot - UNWIND_RULE_SLOTS));
	rows->oldest.count = 0;
	rows->listed = rows->now - 1; /* forces a new list of the oldest chunks */
	rows->churning.count = 0;
}

uint32_t paged_rows_parts(const struct paged_rows *rows)
{
	return (rows->slots.end_slot - UNWIND_RULE_SLOTS) / UNWIND_SLOTS_PER_PART;
}

/* ---- time ---- */

void paged_rows_set_now(struct paged_rows *rows, uint32_t now)
{
	rows->now = now;
}

void paged_rows_each(const struct paged_rows *rows,
		     void (*on_chunk)(void *arg, uint32_t executable, uint32_t used), void *arg)
{
	for (uint32_t i = 0; i < rows->resident.count; i++)
		if (rows->resident.items[i].executable != 0)
			on_chunk(arg, rows->resident.items[i].executable,
				 used_in(rows, UNWIND_RULE_SLOTS + i));
}
