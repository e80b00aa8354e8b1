/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two kinds of objects: an entry per identity, which knows what was found there and when it was
 * looked at last, and a counted table, which outlives its entry while somebody reads it. An entry
 * is checked against the debuginfo store only when the store's generation has moved, and is `busy`
 * while one thread does so without the lock.
 */

#include "symbolizer/symbols/table_cache.h"

#include <pthread.h>

#include "common/hash_table.h"
#include "common/log.h"

/* Generations of the store start here at the earliest; an entry with this one is looked at in any
 * case. */
#define NEVER_CHECKED UINT64_MAX

/*
 * A table of the largest files takes seconds and a gigabyte while it is built, and a file can be
 * made to take as much: a few of them must not take all the workers' memory and processors at once.
 */
#define MAX_BUILDS 2

struct cached_table {
	struct symbol_table *table;
	size_t bytes;
	unsigned int references; /* the entry's and the loans' */
	bool in_entry;           /* counted in the cache's bytes */
};

struct cache_entry {
	struct executable_id id;
	enum table_state state;
	struct cached_table *cached; /* TABLE_READY */
	uint64_t file_generation;    /* of the file that the state comes from, 0 none */
	uint64_t checked_at;         /* the store's generation */
	bool busy;
	struct cache_entry *newer;
	struct cache_entry *older;
};

struct table_cache {
	struct debuginfo_store *debuginfo;
	size_t max_bytes;
	pthread_mutex_t lock;       /* everything below */
	pthread_cond_t idle;        /* an entry is no longer busy */
	struct hash_table *entries; /* executable_id -> struct cache_entry * */
	struct cache_entry *newest;
	struct cache_entry *oldest;
	size_t bytes;
	pthread_cond_t build_ended;
	unsigned int n_builds;  /* at most MAX_BUILDS */
	unsigned int n_waiting; /* to build */
};

int table_cache_new(struct debuginfo_store *debuginfo, size_t max_bytes,
		    struct table_cache **ret_cache)
{
	struct table_cache *cache = calloc(1, sizeof(*cache));
	int r;

	if (!cache)
		return -ENOMEM;

	r = hash_table_new(sizeof(struct executable_id), sizeof(struct cache_entry *), 0,
			   &cache->entries);
	if (r < 0) {
		free(cache);
		return r;
	}
	cache->debuginfo = debuginfo;
	cache->max_bytes = max_bytes;
	pthread_mutex_init(&cache->lock, NULL);
	pthread_cond_init(&cache->idle, NULL);
	pthread_cond_init(&cache->build_ended, NULL);
	*ret_cache = cache;
	return 0;
}

static void unreference(struct cached_table *cached)
{
	if (!cached || --cached->references > 0)
		return;
	symbol_table_free(cached->table);
	free(cached);
}

static size_t entry_bytes(const struct cache_entry *entry)
{
	return sizeof(*entry) + 2 * sizeof(entry->id) + (entry->cached ? entry->cached->bytes : 0);
}

/* The entry no longer has its table; loans may still. */
static void release_table(struct cache_entry *entry)
{
	if (entry->cached)
		entry->cached->in_entry = false;
	unreference(entry->cached);
	entry->cached = NULL;
}

static void unlink_entry(struct table_cache *cache, struct cache_entry *entry)
{
	*(entry->newer ? &entry->newer->older : &cache->newest) = entry->older;
	*(entry->older ? &entry->older->newer : &cache->oldest) = entry->newer;
	entry->newer = entry->older = NULL;
}

static void link_newest(struct table_cache *cache, struct cache_entry *entry)
{
	entry->older = cache->newest;
	*(cache->newest ? &cache->newest->newer : &cache->oldest) = entry;
	cache->newest = entry;
}

static void drop_entry(struct table_cache *cache, struct cache_entry *entry)
{
	cache->bytes -= entry_bytes(entry);
	unlink_entry(cache, entry);
	hash_table_remove(cache->entries, &entry->id);
	release_table(entry);
	free(entry);
}

struct table_cache *table_cache_free(struct table_cache *cache)
{
	if (!cache)
		return NULL;

	while (cache->oldest)
		drop_entry(cache, cache->oldest);
	hash_table_free(cache->entries);
	pthread_cond_destroy(&cache->build_ended);
	pthread_cond_destroy(&cache->idle);
	pthread_mutex_destroy(&cache->lock);
	free(cache);
	return NULL;
}

static void evict(struct table_cache *cache)
{
	struct cache_entry *entry = cache->oldest;

	while (entry && entry != cache->newest && cache->bytes > cache->max_bytes) {
		struct cache_entry *newer = entry->newer;

		if (!entry->busy)
			drop_entry(cache, entry);
		entry = newer;
	}
}

static int find_or_add(struct table_cache *cache, const struct executable_id *id,
		       struct cache_entry **ret_entry)
{
	struct cache_entry *entry;
	void *value;
	int r;

	value = hash_table_find(cache->entries, id);
	if (value) {
		*ret_entry = *(struct cache_entry **)value;
		return 0;
	}

	entry = calloc(1, sizeof(*entry));
	if (!entry)
		return -ENOMEM;
	r = hash_table_insert(cache->entries, id, &value);
	if (r < 0) {
		free(entry);
		return r;
	}
	entry->id = *id;
	entry->checked_at = NEVER_CHECKED;
	*(struct cache_entry **)value = entry;
	cache->bytes += entry_bytes(entry);
	link_newest(cache, entry);
	*ret_entry = entry;
	return 0;
}

/* What one look at the debuginfo store gave. */
struct finding {
	bool unchanged;
	enum table_state state;
	struct cached_table *cached;
	uint64_t file_generation;
	bool ask_again; /* the failure may pass */
};

static int build_table(int fd, const struct executable_id *id, struct finding *finding)
{
	scoped(symbol_table_freep) struct symbol_table *table = NULL;
	char message[SYMBOL_TABLE_MESSAGE_SIZE];
	char id_text[EXECUTABLE_ID_TEXT_SIZE];
	struct cached_table *cached;
	int r;

	executable_id_format(id, id_text);
	r = symbol_table_build(fd, &table, message);
	if (r == -ENOMEM)
		return r;
	if (r < 0) {
		log_warn_errno(
			r,
			"cannot read the symbols of '%s', its frames stay without names: %s (%m)",
			id_text, message);
		finding->state = TABLE_FAILED;
		return 0;
	}
	if (message[0])
		log_warn("the debuginfo of '%s' is used in part: %s", id_text, message);

	cached = calloc(1, sizeof(*cached));
	if (!cached)
		return -ENOMEM;
	cached->bytes = symbol_table_memory_bytes(table);
	cached->references = 1;
	cached->table = take_ptr(table);
	finding->cached = cached;
	finding->state = TABLE_READY;
	return 0;
}

static void begin_build(struct table_cache *cache)
{
	pthread_mutex_lock(&cache->lock);
	cache->n_waiting++;
	while (cache->n_builds >= MAX_BUILDS)
		pthread_cond_wait(&cache->build_ended, &cache->lock);
	cache->n_waiting--;
	cache->n_builds++;
	pthread_mutex_unlock(&cache->lock);
}

static void end_build(struct table_cache *cache)
{
	pthread_mutex_lock(&cache->lock);
	cache->n_builds--;
	pthread_cond_signal(&cache->build_ended);
	pthread_mutex_unlock(&cache->lock);
}

static int open_and_build(struct table_cache *cache, const struct executable_id *id,
			  struct finding *finding)
{
	char id_text[EXECUTABLE_ID_TEXT_SIZE];
	struct debuginfo_entry file;
	scoped_fd int fd = -1;
	int r;

	r = debuginfo_open_file(cache->debuginfo, id, &fd, &file);
	if (r == -ENOMEM || r == 0)
		return r;
	if (r < 0) {
		executable_id_format(id, id_text);
		log_warn_errno(r,
			       "cannot read the debuginfo of '%s' from the store, its frames stay "
			       "without names: %m",
			       id_text);
		finding->state = TABLE_FAILED;
		finding->ask_again = true;
		return 0;
	}
	finding->file_generation = file.generation;
	return build_table(fd, id, finding);
}

static int look_up(struct table_cache *cache, const struct executable_id *id,
		   uint64_t known_generation, struct finding *ret_finding)
{
	struct debuginfo_entry file;
	int r;

	*ret_finding = (struct finding){ .state = TABLE_NONE };
	r = debuginfo_find(cache->debuginfo, id, &file);
	if (r > 0 && file.generation == known_generation) {
		ret_finding->unchanged = true;
		return 0;
	}
	if (r == 0)
		return 0;
	/* What failed to be found fails to be opened as well, and is reported there. */
	begin_build(cache);
	r = open_and_build(cache, id, ret_finding);
	end_build(cache);
	return r;
}

static void install(struct table_cache *cache, struct cache_entry *entry,
		    const struct finding *finding, uint64_t checked_at)
{
	entry->checked_at = finding->ask_again ? NEVER_CHECKED : checked_at;
	if (finding->unchanged)
		return;

	cache->bytes -= entry_bytes(entry);
	release_table(entry);
	entry->cached = finding->cached;
	if (entry->cached)
		entry->cached->in_entry = true;
	entry->state = finding->state;
	entry->file_generation = finding->file_generation;
	cache->bytes += entry_bytes(entry);
}

/* Looks at the debuginfo store without the lock, which is held before and after. */
static int refresh(struct table_cache *cache, struct cache_entry *entry)
{
	struct executable_id id = entry->id;
	uint64_t known_generation = entry->file_generation;
	uint64_t store_generation;
	struct finding finding;
	int r;

	entry->busy = true;
	pthread_mutex_unlock(&cache->lock);
	store_generation = debuginfo_generation(cache->debuginfo);
	r = look_up(cache, &id, known_generation, &finding);
	pthread_mutex_lock(&cache->lock);

	entry->busy = false;
	if (r == 0)
		install(cache, entry, &finding, store_generation);
	pthread_cond_broadcast(&cache->idle);
	return r;
}

int table_cache_borrow(struct table_cache *cache, const struct executable_id *id,
		       struct table_loan *ret_loan)
{
	uint64_t store_generation = debuginfo_generation(cache->debuginfo);
	struct cache_entry *entry = NULL;
	int r;

	pthread_mutex_lock(&cache->lock);
	for (;;) {
		r = find_or_add(cache, id, &entry);
		if (r < 0 || !entry->busy)
			break;
		/* The entry may be gone when the wait is over: it is looked up again. */
		pthread_cond_wait(&cache->idle, &cache->lock);
	}
	if (r == 0 && (entry->checked_at == NEVER_CHECKED || entry->checked_at < store_generation))
		r = refresh(cache, entry);
	if (r == 0) {
		ret_loan->cached = entry->cached;
		ret_loan->table = entry->cached ? entry->cached->table : NULL;
		if (entry->cached)
			entry->cached->references++;
		unlink_entry(cache, entry);
		link_newest(cache, entry);
		r = (int)entry->state;
		evict(cache);
	}
	pthread_mutex_unlock(&cache->lock);
	return r;
}

/* A table grows by the names for people that its users asked for. */
static void count_growth(struct table_cache *cache, struct cached_table *cached)
{
	size_t bytes = symbol_table_memory_bytes(cached->table);

	if (!cached->in_entry)
		return;
	cache->bytes += bytes - cached->bytes;
	cached->bytes = bytes;
	evict(cache);
}

void table_cache_give_back(struct table_cache *cache, struct table_loan *loan)
{
	if (!loan->cached)
		return;
	pthread_mutex_lock(&cache->lock);
	count_growth(cache, loan->cached);
	unreference(loan->cached);
	pthread_mutex_unlock(&cache->lock);
	*loan = (struct table_loan){};
}

size_t table_cache_bytes(struct table_cache *cache)
{
	size_t bytes;

	pthread_mutex_lock(&cache->lock);
	bytes = cache->bytes;
	pthread_mutex_unlock(&cache->lock);
	return bytes;
}

unsigned int table_cache_waiting(struct table_cache *cache)
{
	unsigned int n_waiting;

	pthread_mutex_lock(&cache->lock);
	n_waiting = cache->n_waiting;
	pthread_mutex_unlock(&cache->lock);
	return n_waiting;
}
