/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The slots of 4 KiB that unwind rows are loaded into (bpf/abi/unwind_maps.h). They come in parts
 * of 256 KiB, which are made when they are needed, up to a ceiling. When the ceiling is lowered,
 * the parts beyond it are removed as soon as their slots are free. struct paging_backend makes and
 * removes parts: in the BPF maps, or in plain memory in tests.
 *
 * Slots below UNWIND_RULE_SLOTS belong to rules (agent/paging/rule_pool.h); the others are taken
 * and given back here.
 */

#include "bpf/abi/unwind_maps.h"
#include "common/vec.h"

struct paging_backend {
	void *arg;
	/*
	 * Makes part @part, all zero, known to readers. Its memory belongs to the backend. 0 or
	 * negative errno.
	 */
	int (*add_part)(void *arg, uint32_t part, struct abi_unwind_slot **ret_slots);
	/*
	 * Frees part @part, with its slots at @slots, once no reader can still have a pointer to
	 * it.
	 */
	void (*remove_part)(void *arg, uint32_t part, struct abi_unwind_slot *slots);
	/* An element of unwind_regions. */
	int (*put_region)(void *arg, uint64_t key, uint32_t directory);
	void (*remove_region)(void *arg, uint64_t key);
};

VEC_DEFINE(slot_vec, uint32_t);

struct slot_pool {
	const struct paging_backend *backend;
	struct abi_unwind_slot **parts; /* [max_parts]; NULL: not made */
	uint32_t max_parts;             /* with those of rules */
	/* most parts at present, with those of rules; at most max_parts */
	uint32_t ceiling;
	uint32_t n_parts;  /* made, with those of rules */
	uint32_t end_slot; /* behind the last slot that can be taken */
	struct slot_vec free;
};

/* @max_parts: beside those of rules, at least one. @backend is borrowed. 0 or -ENOMEM. */
int slot_pool_init(struct slot_pool *pool, const struct paging_backend *backend,
		   uint32_t max_parts);
void slot_pool_release(struct slot_pool *pool);

/* @slot's part was made. */
struct abi_unwind_slot *slot_pool_at(const struct slot_pool *pool, uint32_t slot);

/* Makes @part if it is not there. 0 or negative errno. */
int slot_pool_add_part(struct slot_pool *pool, uint32_t part);

/*
 * Makes the next part of those that slots are taken from. 1; 0: that was the last; negative errno.
 */
int slot_pool_grow(struct slot_pool *pool);

/*
 * Sets the ceiling to @n_parts (at least 1, at most max_parts of slot_pool_init()), not counting
 * the parts for rules. Returns the first slot beyond the ceiling. The caller gives back all slots
 * from there on, then slot_pool_trim() removes their parts.
 */
uint32_t slot_pool_limit(struct slot_pool *pool, uint32_t n_parts);
void slot_pool_trim(struct slot_pool *pool);

/* A free slot of unknown content; 0: there is none. */
uint32_t slot_pool_take(struct slot_pool *pool);
void slot_pool_give_back(struct slot_pool *pool, uint32_t slot);
