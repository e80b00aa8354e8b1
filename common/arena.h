/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A bump allocator with a ceiling, for objects that live as long as one request, batch or window.
 *
 * Memory is zeroed and aligned to 16 bytes. All of it is freed at once. Not thread-safe.
 */

#include "common/base.h"
#include "common/memory_budget.h"

struct arena;

/* The arena holds at most @ceiling_bytes, including its block headers. 0 or -ENOMEM. */
int arena_new(size_t ceiling_bytes, struct arena **ret_arena);

/* Like arena_new(). Blocks are taken from @budget too: arena_alloc() returns NULL if it refuses. */
int arena_new_in(size_t ceiling_bytes, struct memory_budget *budget, struct arena **ret_arena);
struct arena *arena_free(struct arena *arena);

/*
 * Sets the size of the first block, before the first allocation: for thousands of small arenas.
 * Each block has twice the size of the one before.
 */
void arena_set_first_block(struct arena *arena, size_t bytes);

/* Frees all memory but the first block. */
void arena_clear(struct arena *arena);

/* NULL: the ceiling is reached, @count * @size overflows, or there is no memory. */
void *arena_alloc(struct arena *arena, size_t size) must_check;
void *arena_alloc_array(struct arena *arena, size_t count, size_t size) must_check;
void *arena_copy(struct arena *arena, const void *data, size_t size) must_check;

/* A NUL-terminated copy of @length bytes of @text. */
char *arena_copy_text(struct arena *arena, const char *text, size_t length) must_check;
char *arena_format(struct arena *arena, const char *format, ...) printf_like(2, 3) must_check;

/* Bytes allocated since the last arena_clear(), with their padding. */
size_t arena_used_bytes(const struct arena *arena);

/* Memory of the blocks, also that which is not allocated yet. */
size_t arena_held_bytes(const struct arena *arena);

#include "common/scoped.h"
DEFINE_SCOPED(struct arena *, arena_free);
