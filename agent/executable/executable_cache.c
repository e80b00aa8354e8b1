/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cache has three indices: number -> entry (owns the entries), identity -> entry, and file ->
 * number. Many files may be one executable (copies in container images). The file index holds
 * numbers instead of pointers: numbers are never reused, so after an eviction it holds at worst a
 * number that no longer exists. Entries without references are in a list, the least recently used
 * first.
 */
#include "agent/executable/executable_cache_private.h"

#include <string.h>

#include "agent/executable/kernel_layout.h"
#include "common/hash_table.h"
#include "common/log.h"
#include "common/scoped.h"

/* Average number of file keys per executable. A file may have two: from stat(2) and reported. */
#define FILES_PER_ITEM 8

struct cached_file {
	uint64_t generation; /* of the inode; 0: not known */
	uint32_t number;
	bool is_trusted; /* only root can write it */
	uint64_t used;   /* file_clock at the last look-up of this file */
};

struct cached_executable {
	struct executable executable;            /* first: the two pointers are the same */
	struct cached_executable *older, *newer; /* among those without references */
	bool is_idle;
};

static_assert(offsetof(struct cached_executable, executable) == 0, "see as_cached()");

struct executable_cache {
	size_t max_items;
	uint32_t last_number;
	struct hash_table *by_number; /* uint32_t -> struct cached_executable * */
	struct hash_table *by_id;     /* struct executable_id -> struct cached_executable * */
	struct hash_table *by_file;   /* struct file_key -> struct cached_file */
	uint64_t file_clock;          /* look-ups of files so far */
	uint64_t n_files_evicted;
	struct cached_executable *oldest_idle, *newest_idle;
	uint32_t vdso_number;
	uint64_t vdso_size;
	uint64_t n_conflicts, n_superseded;
};

static struct cached_executable *as_cached(struct executable *executable)
{
	return (struct cached_executable *)executable;
}

static void idle_remove(struct executable_cache *cache, struct cached_executable *entry)
{
	if (!entry->is_idle)
		return;
	if (entry->older)
		entry->older->newer = entry->newer;
	else
		cache->oldest_idle = entry->newer;
	if (entry->newer)
		entry->newer->older = entry->older;
	else
		cache->newest_idle = entry->older;
	entry->older = entry->newer = NULL;
	entry->is_idle = false;
}

static void idle_append(struct executable_cache *cache, struct cached_executable *entry)
{
	entry->older = cache->newest_idle;
	entry->newer = NULL;
	if (cache->newest_idle)
		cache->newest_idle->newer = entry;
	else
		cache->oldest_idle = entry;
	cache->newest_idle = entry;
	entry->is_idle = true;
}

void executable_cache_touch(struct executable_cache *cache, struct executable *executable)
{
	struct cached_executable *entry = as_cached(executable);

	if (!entry->is_idle)
		return;
	idle_remove(cache, entry);
	idle_append(cache, entry);
}

static void entry_free(struct cached_executable *entry)
{
	free(entry->executable.name);
	free(entry->executable.segments);
	free(entry->executable.source_path);
	free(entry);
}

int executable_cache_new(size_t max_items, struct executable_cache **ret_cache)
{
	scoped(executable_cache_freep) struct executable_cache *cache = calloc(1, sizeof(*cache));
	int r;

	if (!cache)
		return -ENOMEM;
	cache->max_items = max_items;
	r = hash_table_new(sizeof(uint32_t), sizeof(struct cached_executable *), 0,
			   &cache->by_number);
	if (r < 0)
		return r;
	r = hash_table_new(sizeof(struct executable_id), sizeof(struct cached_executable *), 0,
			   &cache->by_id);
	if (r < 0)
		return r;
	r = hash_table_new(sizeof(struct file_key), sizeof(struct cached_file),
			   max_items * FILES_PER_ITEM, &cache->by_file);
	if (r < 0)
		return r;
	*ret_cache = take_ptr(cache);
	return 0;
}

struct executable_cache *executable_cache_free(struct executable_cache *cache)
{
	size_t cursor = 0;
	const void *key;
	void *value;

	if (!cache)
		return NULL;
	while (cache->by_number && hash_table_next(cache->by_number, &cursor, &key, &value))
		entry_free(*(struct cached_executable **)value);
	(void)hash_table_free(cache->by_number);
	(void)hash_table_free(cache->by_id);
	(void)hash_table_free(cache->by_file);
	free(cache);
	return NULL;
}

static void forget(struct executable_cache *cache, struct cached_executable *entry)
{
	idle_remove(cache, entry);
	if (!entry->executable.is_superseded)
		(void)hash_table_remove(cache->by_id, &entry->executable.id);
	(void)hash_table_remove(cache->by_number, &entry->executable.number);
	entry_free(entry);
}

/*
 * Keeps the newest entry in any case, because the caller still uses it. Entries that got references
 * since they were added to the list are removed from the list here.
 */
static void forget_least_used(struct executable_cache *cache)
{
	while (hash_table_count(cache->by_number) > cache->max_items && cache->oldest_idle) {
		struct cached_executable *entry = cache->oldest_idle;

		if (entry->executable.references > 0)
			idle_remove(cache, entry);
		else if (entry == cache->newest_idle)
			break;
		else
			forget(cache, entry);
	}
}

struct executable *executable_cache_by_number(struct executable_cache *cache, uint32_t number)
{
	struct cached_executable **found = hash_table_find(cache->by_number, &number);

	return found ? &(*found)->executable : NULL;
}

struct executable *executable_cache_by_id(struct executable_cache *cache,
					  const struct executable_id *id)
{
	struct cached_executable **found;

	if (id->kind == EXECUTABLE_ID_NONE)
		return NULL;
	found = hash_table_find(cache->by_id, id);
	return found ? &(*found)->executable : NULL;
}

size_t executable_cache_count(const struct executable_cache *cache)
{
	return hash_table_count(cache->by_number);
}

void executable_ref(struct executable *executable)
{
	executable->references++;
}

void executable_unref(struct executable_cache *cache, struct executable *executable)
{
	assert(executable->references > 0);
	if (--executable->references == 0) {
		idle_remove(cache, as_cached(executable));
		idle_append(cache, as_cached(executable));
		forget_least_used(cache);
	}
}

/* Removes the files used before @stamp. */
static void remove_files_before(struct executable_cache *cache, uint64_t stamp)
{
	size_t cursor = 0;
	const void *key;
	void *value;

	while (hash_table_next(cache->by_file, &cursor, &key, &value)) {
		if (((struct cached_file *)value)->used >= stamp)
			continue;
		hash_table_remove_at_cursor(cache->by_file, &cursor);
		cache->n_files_evicted++;
	}
}

/*
 * Makes room in the file index: removes files of evicted executables, or, if there are none, the
 * files looked up longest ago.
 */
static void sweep_files(struct executable_cache *cache)
{
	size_t before = hash_table_count(cache->by_file);
	uint64_t oldest = UINT64_MAX;
	size_t cursor = 0;
	const void *key;
	void *value;

	while (hash_table_next(cache->by_file, &cursor, &key, &value)) {
		const struct cached_file *file = value;

		if (!executable_cache_by_number(cache, file->number))
			hash_table_remove_at_cursor(cache->by_file, &cursor);
		else
			oldest = MIN(oldest, file->used);
	}
	if (hash_table_count(cache->by_file) < before)
		return;
	if (cache->n_files_evicted == 0)
		log_warn("more than %zu files with executable code are in use: the agent forgets "
			 "those mapped longest ago and identifies them again when they are mapped",
			 before);
	/* Removes the oldest quarter of the time span, so that sweeping is rare. */
	remove_files_before(cache, oldest + 1 + (cache->file_clock - oldest) / 4);
}

uint64_t executable_cache_files_evicted(const struct executable_cache *cache)
{
	return cache->n_files_evicted;
}

struct executable *executable_cache_by_file(struct executable_cache *cache,
					    const struct file_key *key, uint64_t generation,
					    bool *ret_is_trusted)
{
	struct cached_file *file = hash_table_find(cache->by_file, key);
	struct executable *executable;

	if (!file || (file->generation && generation && file->generation != generation))
		return NULL;
	executable = executable_cache_by_number(cache, file->number);
	if (!executable || executable->is_superseded)
		return NULL;
	file->used = ++cache->file_clock;
	*ret_is_trusted = file->is_trusted;
	return executable;
}

void executable_cache_supersede(struct executable_cache *cache, struct executable *executable)
{
	assert(executable_cache_by_id(cache, &executable->id) == executable);
	(void)hash_table_remove(cache->by_id, &executable->id);
	executable->is_superseded = true;
	cache->n_superseded++;
}

uint64_t executable_cache_n_superseded(const struct executable_cache *cache)
{
	return cache->n_superseded;
}

bool executable_cache_count_conflict(struct executable_cache *cache)
{
	return cache->n_conflicts++ == 0;
}

uint64_t executable_cache_id_conflicts(const struct executable_cache *cache)
{
	return cache->n_conflicts;
}

int executable_cache_remember_file(struct executable_cache *cache, const struct file_key *key,
				   uint64_t generation, bool is_trusted,
				   const struct executable *executable)
{
	void *value;
	int r;

	r = hash_table_insert(cache->by_file, key, &value);
	if (r == -ENOSPC) {
		sweep_files(cache);
		r = hash_table_insert(cache->by_file, key, &value);
	}
	if (r < 0)
		return r;
	*(struct cached_file *)value = (struct cached_file){
		.generation = generation,
		.number = executable->number,
		.is_trusted = is_trusted,
		.used = ++cache->file_clock,
	};
	return 0;
}

static int index_entry(struct executable_cache *cache, struct cached_executable *entry)
{
	struct cached_executable **value;
	int r;

	r = hash_table_insert(cache->by_number, &entry->executable.number, (void **)&value);
	if (r < 0)
		return r;
	*value = entry;
	if (entry->executable.id.kind == EXECUTABLE_ID_NONE)
		return 0;
	r = hash_table_insert(cache->by_id, &entry->executable.id, (void **)&value);
	if (r < 0) {
		(void)hash_table_remove(cache->by_number, &entry->executable.number);
		return r;
	}
	*value = entry;
	return 0;
}

int executable_cache_add(struct executable_cache *cache, const struct executable_id *id,
			 enum executable_role role, const char *name,
			 struct file_identity *identity, struct executable **ret_executable)
{
	struct cached_executable *entry = calloc(1, sizeof(*entry));
	struct executable *executable;
	int r = -ENOMEM;

	if (!entry)
		return -ENOMEM;
	executable = &entry->executable;
	executable->number = cache->last_number + 1;
	executable->role = role;
	executable->id = *id;
	executable->name = strdup(name);
	if (executable->name)
		r = index_entry(cache, entry);
	if (r < 0) {
		entry_free(entry);
		return r;
	}
	cache->last_number++;
	if (identity) {
		executable->content = identity->content;
		executable->segments = take_ptr(identity->segments);
		executable->n_segments = identity->n_segments;
		executable->interpreter = identity->interpreter;
	}
	idle_append(cache, entry);
	forget_least_used(cache);
	*ret_executable = executable;
	return 0;
}

/* Kernel code is never unmapped, so its entries are never evicted. */
static int add_kernel_part(struct executable_cache *cache, const struct executable_id *id,
			   enum executable_role role, const char *name)
{
	struct executable *executable = executable_cache_by_id(cache, id);
	int r;

	if (executable)
		return 0;
	r = executable_cache_add(cache, id, role, name, NULL, &executable);
	if (r < 0)
		return r;
	executable_ref(executable);
	idle_remove(cache, as_cached(executable));
	return 0;
}

int executable_cache_add_kernel(struct executable_cache *cache, const struct kernel_layout *layout)
{
	int r;

	if (!executable_cache_by_number(cache, KERNEL_EXECUTABLE_NUMBER)) {
		assert(cache->last_number + 1 == KERNEL_EXECUTABLE_NUMBER);
		r = add_kernel_part(cache, &layout->id, EXECUTABLE_KERNEL, "[kernel]");
		if (r < 0)
			return r;
	}
	for (size_t i = 0; i < layout->n_modules; i++) {
		const struct kernel_module *module = &layout->modules[i];

		if (module->id.kind == EXECUTABLE_ID_NONE)
			continue;
		r = add_kernel_part(cache, &module->id, EXECUTABLE_KERNEL_MODULE, module->name);
		if (r < 0)
			return r;
	}
	return 0;
}

void executable_cache_forget_sendings(struct executable_cache *cache,
				      uint64_t acknowledged_sequence)
{
	size_t cursor = 0;
	void *value;

	while (hash_table_next(cache->by_number, &cursor, NULL, &value)) {
		struct executable *executable = &(*(struct cached_executable **)value)->executable;

		if (executable->first_sent_sequence > acknowledged_sequence)
			executable->first_sent_sequence = 0;
	}
}

struct executable *executable_cache_known_vdso(struct executable_cache *cache, uint64_t size)
{
	if (!cache->vdso_number || cache->vdso_size != size)
		return NULL;
	return executable_cache_by_number(cache, cache->vdso_number);
}

void executable_cache_set_vdso(struct executable_cache *cache, const struct executable *executable,
			       uint64_t size)
{
	cache->vdso_number = executable->number;
	cache->vdso_size = size;
}
