/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Allocations take bytes from the newest of a list of shared blocks. Each shared block has twice
 * the size of the one before, by default from 64 KiB to 4 MiB. So an arena with few objects takes
 * little memory, and an arena with many objects needs few calls of calloc(). An allocation that
 * would waste much of a shared block gets its own block, in a second list.
 */

#include "common/arena.h"

#include <stdarg.h>
#include <string.h>

#define ARENA_ALIGNMENT        ((size_t)16)
#define ARENA_FIRST_BLOCK_SIZE ((size_t)(64 * KIB))
#define ARENA_MAX_BLOCK_SIZE   ((size_t)(4 * MIB))

struct arena_block {
	struct arena_block *older;
	size_t size; /* of @data */
	size_t used;
	_Alignas(16) uint8_t data[];
};

struct arena {
	struct arena_block *shared;   /* newest first */
	struct arena_block *single;   /* one allocation each */
	struct memory_budget *budget; /* or NULL */
	size_t ceiling_bytes;
	size_t held_bytes; /* blocks with their headers */
	size_t used_bytes;
	size_t first_block_size, next_block_size;
};

int arena_new(size_t ceiling_bytes, struct arena **ret_arena)
{
	return arena_new_in(ceiling_bytes, NULL, ret_arena);
}

int arena_new_in(size_t ceiling_bytes, struct memory_budget *budget, struct arena **ret_arena)
{
	struct arena *arena = calloc(1, sizeof(*arena));

	if (!arena)
		return -ENOMEM;
	arena->budget = budget;
	arena->ceiling_bytes = ceiling_bytes;
	arena_set_first_block(arena, ARENA_FIRST_BLOCK_SIZE);
	*ret_arena = arena;
	return 0;
}

void arena_set_first_block(struct arena *arena, size_t bytes)
{
	assert(!arena->shared && bytes > sizeof(struct arena_block));
	arena->first_block_size = bytes;
	arena->next_block_size = bytes;
}

/* Frees blocks from the head of @list up to @last. */
static void free_blocks(struct arena *arena, struct arena_block **list,
			const struct arena_block *last)
{
	while (*list != last) {
		struct arena_block *block = *list;
		size_t bytes = sizeof(*block) + block->size;

		*list = block->older;
		arena->held_bytes -= bytes;
		free(block);
		memory_budget_give(arena->budget, bytes);
	}
}

struct arena *arena_free(struct arena *arena)
{
	if (!arena)
		return NULL;
	free_blocks(arena, &arena->single, NULL);
	free_blocks(arena, &arena->shared, NULL);
	free(arena);
	return NULL;
}

void arena_clear(struct arena *arena)
{
	struct arena_block *first = arena->shared;

	while (first && first->older)
		first = first->older;
	free_blocks(arena, &arena->single, NULL);
	free_blocks(arena, &arena->shared, first);
	arena->used_bytes = 0;
	arena->next_block_size = arena->first_block_size;
	if (first) {
		memset(first->data, 0, first->used);
		first->used = 0;
		arena->next_block_size *= 2;
	}
}

/*
 * Puts a block at the head of @list. It has @wanted_size bytes, or fewer near the ceiling, but at
 * least @min_size. NULL: the ceiling is reached, or there is no memory.
 */
static struct arena_block *add_block(struct arena *arena, struct arena_block **list,
				     size_t min_size, size_t wanted_size)
{
	size_t room = arena->ceiling_bytes - arena->held_bytes;
	struct arena_block *block;
	size_t size;

	if (room < sizeof(*block) || room - sizeof(*block) < min_size)
		return NULL;
	size = MIN(wanted_size, room - sizeof(*block));

	if (!memory_budget_take(arena->budget, sizeof(*block) + size))
		return NULL;
	block = calloc(1, sizeof(*block) + size);
	if (!block) {
		memory_budget_give(arena->budget, sizeof(*block) + size);
		return NULL;
	}
	block->size = size;
	block->older = *list;
	*list = block;
	arena->held_bytes += sizeof(*block) + size;
	return block;
}

static struct arena_block *block_with_room(struct arena *arena, size_t size)
{
	struct arena_block *block = arena->shared;

	if (block && block->size - block->used >= size)
		return block;
	if (size > arena->next_block_size / 4)
		return add_block(arena, &arena->single, size, size);

	block = add_block(arena, &arena->shared, size,
			  arena->next_block_size - sizeof(struct arena_block));
	if (block)
		arena->next_block_size = MIN(arena->next_block_size * 2, ARENA_MAX_BLOCK_SIZE);
	return block;
}

void *arena_alloc(struct arena *arena, size_t size)
{
	struct arena_block *block;
	void *memory;

	if (size > SIZE_MAX - ARENA_ALIGNMENT)
		return NULL;
	/* An allocation of 0 bytes has a unique address too. */
	size = ROUND_UP(MAX(size, (size_t)1), ARENA_ALIGNMENT);

	block = block_with_room(arena, size);
	if (!block)
		return NULL;
	memory = block->data + block->used;
	block->used += size;
	arena->used_bytes += size;
	return memory;
}

void *arena_alloc_array(struct arena *arena, size_t count, size_t size)
{
	size_t total;

	if (__builtin_mul_overflow(count, size, &total))
		return NULL;
	return arena_alloc(arena, total);
}

void *arena_copy(struct arena *arena, const void *data, size_t size)
{
	void *copy = arena_alloc(arena, size);

	if (copy && size > 0)
		memcpy(copy, data, size);
	return copy;
}

char *arena_copy_text(struct arena *arena, const char *text, size_t length)
{
	char *copy;

	if (length == SIZE_MAX)
		return NULL;
	/* Memory is zeroed, so the copy ends in NUL. */
	copy = arena_alloc(arena, length + 1);
	if (copy && length > 0)
		memcpy(copy, text, length);
	return copy;
}

char *arena_format(struct arena *arena, const char *format, ...)
{
	va_list args;
	char *text;
	int length;

	va_start(args, format);
	length = vsnprintf(NULL, 0, format, args);
	va_end(args);
	if (length < 0)
		return NULL;

	text = arena_alloc(arena, (size_t)length + 1);
	if (!text)
		return NULL;
	va_start(args, format);
	(void)vsnprintf(text, (size_t)length + 1, format, args);
	va_end(args);
	return text;
}

size_t arena_used_bytes(const struct arena *arena)
{
	return arena->used_bytes;
}

size_t arena_held_bytes(const struct arena *arena)
{
	return arena->held_bytes;
}
