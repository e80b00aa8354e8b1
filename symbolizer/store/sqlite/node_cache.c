/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A query loads thousands of stacks that share most of their callers. One lookup in SQLite per
 * frame would take most of the time of the query. The cache is direct-mapped: a node has one slot,
 * which keeps the last node stored in it. Stacks are cached like nodes, with the leaf as parent.
 */

#include "symbolizer/store/sqlite/node_cache.h"

#include <pthread.h>

#define CACHE_SLOTS (1u << 18)

/* Bit that distinguishes a stack ID from a node ID in the cache. */
#define STACK_KEY (UINT64_C(1) << 63)

struct cached_node {
	uint64_t key; /* 0: empty */
	uint64_t parent;
	uint64_t frame; /* kind | object << NODE_KIND_BITS; of a stack: the cut reason */
	uint64_t address;
};

struct node_cache {
	pthread_mutex_t lock;
	struct cached_node slots[CACHE_SLOTS];
};

int node_cache_new(struct node_cache **ret_cache)
{
	struct node_cache *cache = calloc(1, sizeof(*cache));

	if (!cache)
		return -ENOMEM;
	(void)pthread_mutex_init(&cache->lock, NULL);
	*ret_cache = cache;
	return 0;
}

struct node_cache *node_cache_free(struct node_cache *cache)
{
	if (!cache)
		return NULL;
	(void)pthread_mutex_destroy(&cache->lock);
	free(cache);
	return NULL;
}

static struct cached_node *slot_of(struct node_cache *cache, uint64_t key)
{
	/*
	 * Stack and node IDs both start at 1: stacks use slots from the end, to replace few nodes.
	 */
	uint64_t index = key & STACK_KEY ? ~key : key;

	return &cache->slots[index & (CACHE_SLOTS - 1)];
}

/* Returns 1 if found, 0 if there is no such row. */
static int read_row(struct sqlite_db *hearth, uint64_t key, struct cached_node *ret_node)
{
	scoped(sqlite_resetp) sqlite3_stmt *row = NULL;
	bool is_stack = key & STACK_KEY;
	int r;

	r = sqlite_query(hearth, is_stack ? SQL_STACK_LOAD : SQL_NODE_LOAD, &row,
			 SQL_INT(key & ~STACK_KEY));
	if (r <= 0)
		return r;
	*ret_node = (struct cached_node){
		.key = key,
		.parent = (uint64_t)sqlite3_column_int64(row, 0),
		.frame = (uint64_t)sqlite3_column_int64(row, 1),
		.address = is_stack ? 0 : (uint64_t)sqlite3_column_int64(row, 2),
	};
	return 1;
}

/* The caller holds the lock, which is released while the file is read. */
static int find_node(struct node_cache *cache, struct sqlite_db *hearth, uint64_t key,
		     struct cached_node *ret_node)
{
	struct cached_node *slot = slot_of(cache, key);
	int r;

	if (slot->key == key) {
		*ret_node = *slot;
		return 1;
	}
	(void)pthread_mutex_unlock(&cache->lock);
	r = read_row(hearth, key, ret_node);
	(void)pthread_mutex_lock(&cache->lock);
	if (r > 0)
		*slot = *ret_node;
	return r;
}

/*
 * Collects the frames from the leaf to the root. -EIO: the tree is damaged. In an intact tree, a
 * parent has a smaller ID than its children, and a path has at most STACK_MAX_FRAMES nodes.
 */
static int collect_frames(struct node_cache *cache, struct sqlite_db *hearth, uint64_t leaf,
			  struct store_frame frames[STACK_MAX_FRAMES], uint32_t *ret_count)
{
	uint64_t id = leaf;
	uint32_t count = 0;

	while (id != 0) {
		struct cached_node node;
		int r;

		if (count == STACK_MAX_FRAMES)
			return -EIO;
		r = find_node(cache, hearth, id, &node);
		if (r <= 0 || node.parent >= id)
			return r < 0 ? r : -EIO;
		frames[count++] = (struct store_frame){
			.kind = (uint8_t)node.frame,
			.object = (uint32_t)(node.frame >> NODE_KIND_BITS),
			.address = node.address,
		};
		id = node.parent;
	}
	*ret_count = count;
	return 0;
}

static int load_stack(struct node_cache *cache, struct sqlite_db *hearth, uint64_t id,
		      struct arena *arena, struct store_stack *ret_stack)
{
	struct store_frame frames[STACK_MAX_FRAMES];
	struct cached_node stack;
	uint32_t count = 0;
	int r;

	*ret_stack = (struct store_stack){};
	if (id == 0 || id >= STACK_KEY)
		return 0;
	(void)pthread_mutex_lock(&cache->lock);
	r = find_node(cache, hearth, id | STACK_KEY, &stack);
	if (r > 0)
		r = collect_frames(cache, hearth, stack.parent, frames, &count) < 0 ? -EIO : 1;
	(void)pthread_mutex_unlock(&cache->lock);
	if (r <= 0)
		return r;
	ret_stack->cut = (uint8_t)stack.frame;
	ret_stack->n_frames = count;
	ret_stack->frames = arena_copy(arena, frames, count * sizeof(*frames));
	return ret_stack->frames ? 0 : -ENOMEM;
}

int stacks_load(struct node_cache *cache, struct sqlite_db *hearth, const uint64_t *stack_ids,
		size_t count, struct arena *arena, struct store_stack *ret_stacks)
{
	for (size_t i = 0; i < count; i++) {
		int r = load_stack(cache, hearth, stack_ids[i], arena, &ret_stacks[i]);

		if (r < 0)
			return r;
	}
	return 0;
}
