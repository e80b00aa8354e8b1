/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Texts are stored one after another in chunks of an arena, because the arena would round each of
 * them up to 16 bytes. A hash table of {tag, id} finds them; its tag is compared before the text.
 * Tags are seeded per table: the authors of programs choose the names of functions and processes,
 * and prepared collisions would make interning n names cost n * n.
 */

#include "common/string_table.h"

#include <string.h>

#include "common/arena.h"
#include "common/hash.h"
#include "common/vec.h"

/* Chunks are small at first: there are owners of thousands of tables with few texts each. */
#define FIRST_CHUNK_BYTES ((size_t)KIB)
#define TEXT_CHUNK_BYTES  ((size_t)(16 * KIB))
#define FIRST_BLOCK_BYTES ((size_t)(4 * KIB))
#define SMALL_TABLE_BYTES ((size_t)(64 * KIB))
#define FIRST_SLOTS       ((size_t)64)

struct interned_text {
	const char *text;
	uint32_t length;
};

struct string_slot {
	uint32_t tag;
	uint32_t id_plus_one; /* 0: empty */
};

VEC_DEFINE(interned_texts, struct interned_text);

struct string_table {
	struct arena *arena;
	char *chunk;
	size_t chunk_left;
	size_t text_bytes;
	size_t max_bytes;
	struct interned_texts texts;
	struct string_slot *slots;
	size_t n_slots; /* a power of two */
	uint64_t seed;
};

int string_table_new(size_t max_bytes, struct string_table **ret_table)
{
	scoped(string_table_freep) struct string_table *table = calloc(1, sizeof(*table));
	string_id empty_id;
	int r;

	if (!table)
		return -ENOMEM;
	table->max_bytes = max_bytes;
	table->n_slots = FIRST_SLOTS;
	table->seed = hash_seed();
	table->slots = calloc(FIRST_SLOTS, sizeof(*table->slots));
	if (!table->slots)
		return -ENOMEM;
	/* max_bytes bounds the texts. The arena also holds the unused ends of chunks. */
	r = arena_new(SIZE_MAX, &table->arena);
	if (r < 0)
		return r;
	arena_set_first_block(table->arena, FIRST_BLOCK_BYTES);
	r = string_table_intern(table, "", 0, &empty_id);
	if (r < 0)
		return r;
	assert(empty_id == 0);

	*ret_table = take_ptr(table);
	return 0;
}

struct string_table *string_table_free(struct string_table *table)
{
	if (!table)
		return NULL;
	arena_free(table->arena);
	vec_release(&table->texts);
	free(table->slots);
	free(table);
	return NULL;
}

size_t string_table_bytes(const struct string_table *table)
{
	return table->text_bytes;
}

size_t string_table_memory_bytes(const struct string_table *table)
{
	return sizeof(*table) + arena_held_bytes(table->arena) +
	       table->texts.capacity * sizeof(*table->texts.items) +
	       table->n_slots * sizeof(*table->slots);
}

void string_table_replace_take(struct string_table *table, struct string_table *from)
{
	struct string_table old = *table;

	*table = *from;
	*from = old;
	(void)string_table_free(from);
}

static bool text_equals(const struct string_table *table, string_id id, const char *text,
			size_t length)
{
	const struct interned_text *interned = &table->texts.items[id];

	return interned->length == length && memcmp(interned->text, text, length) == 0;
}

/* The slot of @text, or the empty slot for it. */
static struct string_slot *probe(const struct string_table *table, const char *text, size_t length,
				 uint32_t tag)
{
	size_t i = tag & (table->n_slots - 1);

	while (table->slots[i].id_plus_one != 0) {
		if (table->slots[i].tag == tag &&
		    text_equals(table, table->slots[i].id_plus_one - 1, text, length))
			break;
		i = (i + 1) & (table->n_slots - 1);
	}
	return &table->slots[i];
}

static int grow_slots(struct string_table *table)
{
	size_t n_slots = table->n_slots * 2;
	struct string_slot *slots = calloc(n_slots, sizeof(*slots));

	if (!slots)
		return -ENOMEM;
	for (size_t old = 0; old < table->n_slots; old++) {
		size_t i = table->slots[old].tag & (n_slots - 1);

		if (table->slots[old].id_plus_one == 0)
			continue;
		while (slots[i].id_plus_one != 0)
			i = (i + 1) & (n_slots - 1);
		slots[i] = table->slots[old];
	}
	free(table->slots);
	table->slots = slots;
	table->n_slots = n_slots;
	return 0;
}

static char *text_memory(struct string_table *table, size_t size)
{
	const size_t chunk_bytes =
		table->text_bytes < SMALL_TABLE_BYTES ? FIRST_CHUNK_BYTES : TEXT_CHUNK_BYTES;
	char *memory;

	if (size > chunk_bytes / 4)
		return arena_alloc(table->arena, size);
	if (size > table->chunk_left) {
		memory = arena_alloc(table->arena, chunk_bytes);
		if (!memory)
			return NULL;
		table->chunk = memory;
		table->chunk_left = chunk_bytes;
	}
	memory = table->chunk;
	table->chunk += size;
	table->chunk_left -= size;
	return memory;
}

static int add_text(struct string_table *table, const char *text, size_t length, string_id *ret_id)
{
	char *copy;
	int r;

	if (length > table->max_bytes - table->text_bytes || length >= UINT32_MAX ||
	    table->texts.count >= UINT32_MAX - 1)
		return -ENOSPC;
	r = vec_reserve(&table->texts, 1);
	if (r < 0)
		return r;
	copy = text_memory(table, length + 1);
	if (!copy)
		return -ENOMEM;
	if (length > 0)
		memcpy(copy, text, length);
	copy[length] = '\0';

	table->text_bytes += length;
	*ret_id = (string_id)table->texts.count;
	return vec_push(&table->texts,
			(struct interned_text){ .text = copy, .length = (uint32_t)length });
}

int string_table_intern(struct string_table *table, const char *text, size_t length,
			string_id *ret_id)
{
	uint32_t tag = (uint32_t)hash64_seeded(text, length, table->seed);
	struct string_slot *slot;
	string_id id = 0;
	int r;

	slot = probe(table, text, length, tag);
	if (slot->id_plus_one != 0) {
		*ret_id = slot->id_plus_one - 1;
		return 0;
	}
	if (table->texts.count >= table->n_slots / 4 * 3) {
		r = grow_slots(table);
		if (r < 0)
			return r;
		slot = probe(table, text, length, tag);
	}
	r = add_text(table, text, length, &id);
	if (r < 0)
		return r;

	*slot = (struct string_slot){ .tag = tag, .id_plus_one = id + 1 };
	*ret_id = id;
	return 0;
}

size_t string_table_longest_run(const struct string_table *table)
{
	size_t longest = 0;
	size_t run = 0;

	/* Two rounds, because a run may wrap around. The table always has an empty slot. */
	for (size_t i = 0; i < 2 * table->n_slots; i++) {
		run = table->slots[i & (table->n_slots - 1)].id_plus_one ? run + 1 : 0;
		longest = MAX(longest, run);
	}
	return longest;
}

bool string_table_find(const struct string_table *table, const char *text, size_t length,
		       string_id *ret_id)
{
	const uint32_t tag = (uint32_t)hash64_seeded(text, length, table->seed);
	const struct string_slot *slot = probe(table, text, length, tag);

	if (slot->id_plus_one == 0)
		return false;
	*ret_id = slot->id_plus_one - 1;
	return true;
}

const char *string_table_text(const struct string_table *table, string_id id)
{
	assert(id < table->texts.count);
	return table->texts.items[id].text;
}

size_t string_table_length(const struct string_table *table, string_id id)
{
	assert(id < table->texts.count);
	return table->texts.items[id].length;
}

uint32_t string_table_count(const struct string_table *table)
{
	return (uint32_t)table->texts.count;
}
