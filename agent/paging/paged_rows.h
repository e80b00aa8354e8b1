/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Which chunks of unwind tables are resident (bpf/abi/unwind_maps.h), and which leave when others
 * come.
 *
 * Time is counted in ticks of 0.27 s (UNWIND_USED_SHIFT). Whoever unwinds a stack, in the kernel or
 * here, notes the tick in each chunk that it uses. When a slot is needed the pool decides in this
 * order:
 *
 *   1. a free slot
 *   2. a chunk that no stack used for PAGED_ROWS_STALE_TICKS, ten minutes
 *   3. a new part of the pool, while the budget allows
 *   4. the chunk that was used longest ago, if that is PAGED_ROWS_IDLE_TICKS or more, a second
 *   5. where all were used within a second: one of few slots that take turns. All others stay, so that stacks that are
 *      whole stay whole; what takes turns is loaded again for each stack (counted: n_churned).
 *
 * The pool's maximum size can be lowered while it is in use. Chunks in the parts beyond it are
 * evicted, recently used or not. When a stack needs them they are loaded into the parts that stay.
 *
 * Readers never wait and are never waited for: see unwind_maps.h. Used by the agent's main thread.
 */

#include "agent/paging/directories.h"
#include "agent/paging/rule_pool.h"
#include "agent/unwind/table/chunk_writer.h"

#define PAGED_ROWS_STALE_TICKS 2236
#define PAGED_ROWS_IDLE_TICKS  4

/* Slots that take turns: a sixteenth, but no fewer than 16 and no more than 128. */
#define PAGED_ROWS_CHURN_FRACTION 16u
#define PAGED_ROWS_MIN_CHURN      16u
#define PAGED_ROWS_MAX_CHURN      128u

struct resident_slot {
	uint32_t executable; /* 0: not a row chunk */
	uint32_t n_rows;
};

VEC_DEFINE(resident_vec, struct resident_slot);

struct paged_rows {
	struct slot_pool slots;
	struct rule_pool rules;
	struct directories directories;
	struct resident_vec resident; /* by slot - UNWIND_RULE_SLOTS */
	uint32_t now;                 /* tick */
	uint32_t generation;          /* of the chunk that was loaded last */
	struct slot_vec oldest;       /* idle chunks, the next to leave last */
	uint32_t listed;              /* the tick in which they were listed */
	struct slot_vec churning;     /* slots that take turns, a ring */
	uint32_t next_churning;
	uint32_t churn_hand; /* where the next slot for the ring is looked for */
	uint32_t n_chunks;
	uint64_t n_rows;
	uint64_t n_loaded, n_evicted, n_churned;
};

/* @backend is borrowed; @max_parts of the pool, beside those of rules. 0 or negative errno. */
int paged_rows_init(struct paged_rows *rows, const struct paging_backend *backend,
		    uint32_t max_parts, uint32_t max_rules);
void paged_rows_release(struct paged_rows *rows);

/*
 * Makes @record, rows of @executable that are not resident, resident. 0 or negative errno: maps or
 * memory are exhausted, nothing is changed but what was evicted.
 */
int paged_rows_load(struct paged_rows *rows, uint32_t executable,
		    const struct chunk_record *record);

/* Whether the rows of an address are resident. */
bool paged_rows_find(const struct paged_rows *rows, uint32_t executable, uint64_t elf_addr);

/* Evicts all chunks of @executable. */
void paged_rows_unload(struct paged_rows *rows, uint32_t executable);

/*
 * Sets the pool's maximum size to @n_parts (at least 1, at most @max_parts of paged_rows_init()),
 * not counting the parts for rules. Evicts and frees what lies beyond before it returns, which
 * takes some 10 ms for each part on an idle host.
 */
void paged_rows_limit(struct paged_rows *rows, uint32_t n_parts);

/* Parts that are allocated, without those for rules. */
uint32_t paged_rows_parts(const struct paged_rows *rows);

/* It is tick @now, which never falls. */
void paged_rows_set_now(struct paged_rows *rows, uint32_t now);

/* Calls @on_chunk for each resident chunk with the tick of its last use. */
void paged_rows_each(const struct paged_rows *rows,
		     void (*on_chunk)(void *arg, uint32_t executable, uint32_t used), void *arg);
