/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Decides which chunks of unwind tables are resident (bpf/abi/unwind_maps.h), and which are evicted
 * for others.
 *
 * Time is counted in ticks of 0.27 s (UNWIND_USED_SHIFT). The unwinders, in the kernel and in the
 * agent, write the current tick to each chunk that they use. When a slot is needed, the first of
 * these that is available is used:
 *
 *   1. a free slot
 *   2. a chunk that no stack used for PAGED_ROWS_STALE_TICKS, ten minutes
 *   3. a new part of the pool, while the budget allows
 *   4. the chunk that was not used for the longest time, if that is PAGED_ROWS_IDLE_TICKS or more,
 *      a second
 *   5. if all were used within a second: the next slot of the churn ring, a small set of slots. All
 *      other chunks stay, so that complete stacks remain complete. The chunks of the ring are
 *      loaded again for each stack (counted: n_churned).
 *
 * The pool's maximum size can be lowered while it is in use. Chunks in the parts beyond it are
 * evicted, recently used or not. When a stack needs them again, they are loaded into the remaining
 * parts.
 *
 * Readers never wait, and the agent never waits for readers: see unwind_maps.h. Used by the agent's
 * main thread.
 */

#include "agent/paging/directories.h"
#include "agent/paging/rule_pool.h"
#include "agent/unwind/table/chunk_writer.h"

#define PAGED_ROWS_STALE_TICKS 2236
#define PAGED_ROWS_IDLE_TICKS  4

/* Size of the churn ring: a sixteenth of the slots, but at least 16 and at most 128. */
#define PAGED_ROWS_CHURN_FRACTION 16u
#define PAGED_ROWS_MIN_CHURN      16u
#define PAGED_ROWS_MAX_CHURN      128u

struct resident_slot {
	uint32_t executable; /* 0: the slot holds no row chunk */
	uint32_t n_rows;
};

VEC_DEFINE(resident_vec, struct resident_slot);

struct paged_rows {
	struct slot_pool slots;
	struct rule_pool rules;
	struct directories directories;
	struct resident_vec resident; /* by slot - UNWIND_RULE_SLOTS */
	uint32_t now;                 /* current tick */
	uint32_t generation;          /* of the last loaded chunk */
	struct slot_vec oldest;       /* idle chunks; the next to be evicted is the last */
	uint32_t listed;              /* the tick in which `oldest` was made */
	struct slot_vec churning;     /* slots of the churn ring */
	uint32_t next_churning;
	uint32_t churn_hand; /* where the search for the ring's next slot begins */
	uint32_t n_chunks;
	uint64_t n_rows;
	uint64_t n_loaded, n_evicted, n_churned;
};

/*
 * @backend is borrowed. @max_parts is the pool's maximum size, not counting the parts for rules.
 * Returns 0 or a negative errno.
 */
int paged_rows_init(struct paged_rows *rows, const struct paging_backend *backend,
		    uint32_t max_parts, uint32_t max_rules);
void paged_rows_release(struct paged_rows *rows);

/*
 * Makes @record resident: rows of @executable that are not resident yet. Returns 0 or a negative
 * errno if maps or memory are exhausted. Then nothing has changed, except that chunks may have been
 * evicted.
 */
int paged_rows_load(struct paged_rows *rows, uint32_t executable,
		    const struct chunk_record *record);

/* Whether the rows of an address are resident. */
bool paged_rows_find(const struct paged_rows *rows, uint32_t executable, uint64_t elf_addr);

/* Evicts all chunks of @executable. */
void paged_rows_unload(struct paged_rows *rows, uint32_t executable);

/*
 * Sets the pool's maximum size to @n_parts (at least 1, at most @max_parts of paged_rows_init()),
 * not counting the parts for rules. Evicts the chunks beyond it and frees their parts before it
 * returns, which takes some 10 ms for each part on an idle host.
 */
void paged_rows_limit(struct paged_rows *rows, uint32_t n_parts);

/* Allocated parts, not counting those for rules. */
uint32_t paged_rows_parts(const struct paged_rows *rows);

/* Sets the current tick to @now, which never decreases. */
void paged_rows_set_now(struct paged_rows *rows, uint32_t now);

/* Calls @on_chunk for each resident chunk with the tick of its last use. */
void paged_rows_each(const struct paged_rows *rows,
		     void (*on_chunk)(void *arg, uint32_t executable, uint32_t used), void *arg);
