/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The definitions of one agent in one epoch, by their numbers, in memory.
 *
 * Texts are copied. Stacks share a prefix tree, so that a stack with a new leaf takes one node. The
 * numbers hold at most a fixed number of bytes. When they are full, the owner frees them, and the
 * agent is asked again for those that its next batches use. Not thread-safe.
 */

#include "common/hash_table.h"
#include "common/limits.h"
#include "common/row_index.h"
#include "common/vec.h"
#include "symbolizer/store/batch.h"
#include "symbolizer/store/store.h"

/*
 * Event types that an agent describes in one epoch. Each makes segments of its own. A batch may
 * have as many; agents of this version describe none. The rows of series of further types are not
 * stored.
 */
#define NUMBERS_MAX_EVENT_TYPES MAX_EVENT_TYPES

struct numbers_node {
	uint64_t address;
	uint32_t object; /* number, as in struct batch_frame */
	uint32_t parent; /* 0 none, else index + 1 */
	uint32_t kind;
	uint32_t zero; /* no padding, because the index compares nodes as words */
};

#define NUMBERS_NODE_WORDS (sizeof(struct numbers_node) / sizeof(uint64_t))

/* See stack_content.h. Zero: not computed yet. */
struct content {
	uint64_t words[2];
};

static inline bool has_content(const struct content *content)
{
	return content->words[0] || content->words[1];
}

struct numbers_stack {
	uint32_t leaf; /* 0 none, else index of the node + 1 */
	uint32_t cut;
	struct content content;
};

struct numbers_object {
	bool is_defined;
	struct content content;
	struct batch_executable executable; /* if the number has no FRAME_CODE_OBJECT */
	struct batch_code_object code;
};

struct numbers_process {
	uint32_t version; /* increases with each definition */
	struct batch_process process;
};

VEC_DEFINE(numbers_list, uint32_t);

/* Numbers without a definition. A list may have a number several times. */
struct numbers_missing {
	struct numbers_list stacks, series, processes, objects;
};

struct numbers {
	struct arena *arena;
	struct batch_host host;
	struct hash_table *objects;   /* u32 -> struct numbers_object * */
	struct hash_table *processes; /* u32 -> struct numbers_process * */
	struct hash_table *series;    /* u32 -> struct batch_series * */
	struct hash_table *types;     /* set of struct numbers_type: described event types */
	uint64_t n_refused_series;    /* definitions with an event type beyond the limit */
	struct hash_table *stacks;    /* u32 -> struct numbers_stack */
	struct hash_table *names;     /* u64 key of a named frame -> const char * */
	struct row_index tree;        /* of nodes */
	VEC_DEFINE(, struct numbers_node) nodes;
	size_t max_nodes;
	/*
	 * Increases when an object, or the name of a frame, gets another content. Stacks that were
	 * read before may have changed then.
	 */
	uint64_t generation;
};

/* Returns 0 or -ENOMEM. */
int numbers_new(size_t max_bytes, struct numbers **ret_numbers);
struct numbers *numbers_free(struct numbers *numbers);

/*
 * Adds the definitions of @batch. A definition that refers to an unknown number is not added, and
 * that number is added to @missing. Returns 0; -ENOSPC: the numbers are full; -ENOMEM.
 */
int numbers_learn(struct numbers *numbers, const struct batch *batch,
		  struct numbers_missing *missing);

/* Adds series and stacks that the rows of @batch use and that are not defined to @missing. */
int numbers_check_rows(const struct numbers *numbers, const struct batch *batch,
		       struct numbers_missing *missing);

struct numbers_object *numbers_object(const struct numbers *numbers, uint32_t number);
const struct numbers_process *numbers_process(const struct numbers *numbers, uint32_t number);
const struct batch_series *numbers_series(const struct numbers *numbers, uint32_t number);
struct numbers_stack *numbers_stack(const struct numbers *numbers, uint32_t number);

/* Memory, also that which is not used yet. */
size_t numbers_bytes(const struct numbers *numbers);

/* NULL: unknown. */
const char *numbers_name(const struct numbers *numbers, uint64_t key);

/*
 * Copies the numbers to @ret_missing in @arena, sorted and each once, except those that @batch
 * defines. Returns STORE_NEEDS_NUMBERS, or -ENOMEM.
 */
int numbers_missing_return(struct numbers_missing *missing, const struct batch *batch,
			   struct arena *arena, struct store_missing *ret_missing);
bool numbers_missing_any(const struct numbers_missing *missing);
void numbers_missing_release(struct numbers_missing *missing);

DEFINE_SCOPED(struct numbers *, numbers_free);
