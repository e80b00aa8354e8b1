/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The slots of 4 KiB that hold unwind rows (bpf/abi/unwind_maps.h). They are allocated in parts of
 * 256 KiB when they are needed, up to a ceiling. When the ceiling is lowered, the parts beyond it
 * are removed as soon as their slots are free. struct paging_backend creates and removes parts: in
 * the BPF maps, or in plain memory in tests.
 *
 * Slots below UNWIND_RULE_SLOTS belong to rules (agent/paging/rule_pool.h). The others are taken
 * and given back here.
 */

#include "bpf/abi/unwind_maps.h"
#include "common/vec.h"

struct paging_backend {
	void *arg;
	/*
	 * Creates part @part, filled with zeros and visible to readers. The backend owns its
	 * memory. Returns 0 or a negative errno.
	 */
	int (*add_part)(void *arg, uint32_t part, struct abi_unwind_slot **ret_slots);
	/*
	 * Frees part @part, with its slots at @slots, when no reader can still have a pointer to
	 * it.
	 */
	void (*remove_part)(void *arg, uint32_t part, struct abi_unwind_slot *slots);
	/* Adds an element of unwind_regions. */
	int (*put_region)(void *arg, uint64_t key, uint32_t directory);
	void (*remove_region)(void *arg, uint64_t key);
};

VEC_DEFINE(slot_vec, uint32_t);

struct slot_pool {
	const struct paging_backend *backend;
	struct abi_unwind_slot **parts; /* [max_parts]; NULL: not created */
	uint32_t max_parts;             /* including the parts for rules */
	/* current maximum number of parts, including those for rules; at most max_parts */
	uint32_t ceiling;
	uint32_t n_parts;  /* created, including those for rules */
	uint32_t end_slot; /* first slot after those that can be taken */
	struct slot_vec free;
};

/*
 * @max_parts: without the parts for rules, at least one. @backend is borrowed. Returns 0 or
 * -ENOMEM.
 */
int slot_pool_init(struct slot_pool *pool, const struct paging_backend *backend,
		   uint32_t max_parts);
void slot_pool_release(struct slot_pool *pool);

/* Returns the content of @slot. Its part must have been created. */
struct abi_unwind_slot *slot_pool_at(const struct slot_pool *pool, uint32_t slot);

/* Creates @part unless it exists. Returns 0 or a negative errno. */
int slot_pool_add_part(struct slot_pool *pool, uint32_t part);

/*
 * Creates the next part from which slots are taken. Returns 1, 0 if the ceiling is reached, or a
 * negative errno.
 */
int slot_pool_grow(struct slot_pool *pool);

/*
 * Sets the ceiling to @n_parts (at least 1, at most max_parts of slot_pool_init()), not counting
 * the parts for rules. Returns the first slot beyond the ceiling. The caller gives back all slots
 * from there on; then slot_pool_trim() removes their parts.
 */
uint32_t slot_pool_limit(struct slot_pool *pool, uint32_t n_parts);
void slot_pool_trim(struct slot_pool *pool);

/* Takes a free slot, whose content is undefined. 0 if there is none. */
uint32_t slot_pool_take(struct slot_pool *pool);
void slot_pool_give_back(struct slot_pool *pool, uint32_t slot);
