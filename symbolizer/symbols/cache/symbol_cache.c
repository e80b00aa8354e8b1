/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cache has an entry for each identity, with its state and the time of its last check. The open
 * table of an entry has a reference count, because a query may read it after the entry is evicted.
 *
 * An entry is compared with the debuginfo store only if the store's generation has changed. While a
 * thread does so, or opens a table, it does not hold the lock, and the entry is `busy`. Compiling a
 * table takes longer and is a job (compile_queue.c).
 */

#include "symbolizer/symbols/cache/symbol_cache.h"

#include <stdio.h>
#include <string.h>

#include "common/clock.h"
#include "common/condition.h"
#include "common/log.h"
#include "symbolizer/symbols/cache/compile_inputs.h"
#include "symbolizer/symbols/cache/symbol_cache_private.h"
#include "symbolizer/symbols/table/symbol_layout.h"

/* cache_entry.checked_at before the first check. */
#define NEVER_CHECKED UINT64_MAX

uint64_t symbol_cache_now_ns(void)
{
	return clock_monotonic_ns(&system_clock);
}

/* ---- entries -----------------------------------------------------------------------------------
 */

uint64_t symbol_cache_entry_bytes(const struct cache_entry *entry)
{
	return sizeof(*entry) + 2 * sizeof(entry->id) + (entry->table ? entry->table->bytes : 0);
}

void symbol_cache_set_table(struct symbol_cache *cache, struct cache_entry *entry,
			    struct open_table *table)
{
	struct open_table *old = entry->table;

	cache->bytes -= symbol_cache_entry_bytes(entry);
	if (old && (!table || memcmp(&old->name, &table->name, sizeof(old->name)) != 0))
		flat_files_remove(cache->files, &old->name);
	open_table_release(old);
	entry->table = table;
	cache->n_open += (table != NULL) - (uint64_t)(old != NULL);
	cache->bytes += symbol_cache_entry_bytes(entry);
}

static void unlink_entry(struct symbol_cache *cache, struct cache_entry *entry)
{
	*(entry->newer ? &entry->newer->older : &cache->newest) = entry->older;
	*(entry->older ? &entry->older->newer : &cache->oldest) = entry->newer;
	entry->newer = entry->older = NULL;
}

static void link_newest(struct symbol_cache *cache, struct cache_entry *entry)
{
	entry->older = cache->newest;
	*(cache->newest ? &cache->newest->newer : &cache->oldest) = entry;
	cache->newest = entry;
}

/* Removes an entry. Its flat file stays, and is found after a restart. */
static void drop_entry(struct symbol_cache *cache, struct cache_entry *entry)
{
	cache->bytes -= symbol_cache_entry_bytes(entry);
	cache->n_open -= entry->table != NULL;
	unlink_entry(cache, entry);
	hash_table_remove(cache->entries, &entry->id);
	open_table_release(entry->table);
	free(entry);
}

static bool exceeds_limit(struct symbol_cache *cache)
{
	return cache->bytes + flat_files_left_bytes(cache->files) > cache->max_bytes;
}

/* Left files are removed first: they were not used since the start. */
static void evict(struct symbol_cache *cache)
{
	struct cache_entry *entry = cache->oldest;

	while (exceeds_limit(cache) && flat_files_remove_left(cache->files) > 0)
		;
	while (entry && entry != cache->newest && exceeds_limit(cache)) {
		struct cache_entry *newer = entry->newer;

		if (!entry->busy && entry->job == JOB_NONE) {
			symbol_cache_set_table(cache, entry, NULL);
			drop_entry(cache, entry);
		}
		entry = newer;
	}
}

static int find_or_add(struct symbol_cache *cache, const struct executable_id *id,
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
	cache->bytes += symbol_cache_entry_bytes(entry);
	link_newest(cache, entry);
	*ret_entry = entry;
	return 0;
}

/* ---- start and end -----------------------------------------------------------------------------
 */

static int open_parts(struct symbol_cache *cache, const struct symbol_cache_options *options)
{
	scoped_free char *folder = NULL;
	int r;

	if (asprintf(&folder, "%s/symbols", options->folder) < 0)
		return -ENOMEM;
	r = hash_table_new(sizeof(struct executable_id), sizeof(struct cache_entry *), 0,
			   &cache->entries);
	if (r < 0)
		return r;
	r = flat_files_open(folder, &cache->files);
	if (r < 0)
		return r;
	r = table_database_open(options->folder, options->clock, options->stored_bytes,
				&cache->compiler.database);
	if (r < 0)
		return r;
	return compile_queue_start(cache);
}

static void init_locks(struct symbol_cache *cache)
{
	(void)pthread_mutex_init(&cache->lock, NULL);
	condition_init(&cache->changed);
	condition_init(&cache->wanted);
}

int symbol_cache_new(const struct symbol_cache_options *options, struct symbol_cache **ret_cache)
{
	scoped(symbol_cache_freep) struct symbol_cache *cache = calloc(1, sizeof(*cache));
	int r;

	if (!cache)
		return -ENOMEM;
	cache->max_bytes = options->max_bytes;
	cache->compiler = (struct table_compiler){
		.debuginfo = options->debuginfo,
		.clock = options->clock,
		.program = options->helper,
		.stop_fd = -1,
	};
	init_locks(cache);
	r = open_parts(cache, options);
	if (r < 0)
		return r;
	*ret_cache = take_ptr(cache);
	return 0;
}

struct symbol_cache *symbol_cache_free(struct symbol_cache *cache)
{
	if (!cache)
		return NULL;

	compile_queue_stop(cache);
	while (cache->oldest)
		drop_entry(cache, cache->oldest);
	(void)table_database_free(cache->compiler.database);
	(void)flat_files_free(cache->files);
	hash_table_free(cache->entries);
	(void)pthread_cond_destroy(&cache->wanted);
	(void)pthread_cond_destroy(&cache->changed);
	(void)pthread_mutex_destroy(&cache->lock);
	free(cache);
	return NULL;
}

/* ---- checking ----------------------------------------------------------------------------------
 */

/* The result of a check. */
struct finding {
	struct stored_table row;
	bool has_sources;
	bool wants_job;
	bool check_again;
	struct open_table *table; /* a newly opened table, or NULL */
};

static bool is_due(struct symbol_cache *cache, const struct stored_table *row)
{
	return clock_wall_ns(cache->compiler.clock) >= table_retry_wall_ns(row);
}

/* Returns whether @row is the result of these inputs, so that nothing has to be compiled. */
static bool is_answer(struct symbol_cache *cache, const struct stored_table *row,
		      const struct input_hashes *hashes)
{
	return row->layout_version == SYMBOL_LAYOUT_VERSION &&
	       input_hashes_equal(&row->inputs, hashes) &&
	       (row->outcome != HELPER_DIED || !is_due(cache, row));
}

static int check(struct symbol_cache *cache, const struct executable_id *id,
		 const struct open_table *open, struct finding *finding)
{
	struct input_hashes hashes = {};
	int r = 0;

	/* The first check of the entry. */
	if (finding->row.layout_version == 0)
		r = table_database_find(cache->compiler.database, id, &finding->row);
	if (r >= 0)
		r = input_hashes_find(cache->compiler.debuginfo, id, &finding->row.alt_id, &hashes);
	if (r < 0)
		return r;
	finding->has_sources = r > 0;
	if (!open) {
		r = open_table_from_row(cache->files, cache->compiler.database, id, &finding->row,
					&finding->table);
		if (r < 0)
			return r;
		/* The table was damaged, evicted from the database, or of another version. */
		if (r == 0 && finding->row.stored_bytes > 0)
			finding->row.layout_version = 0;
		if (r == 0)
			finding->row.stored_bytes = 0;
	}
	finding->wants_job = finding->has_sources && !is_answer(cache, &finding->row, &hashes);
	return 0;
}

void symbol_cache_reset(struct symbol_cache *cache, struct cache_entry *entry)
{
	symbol_cache_set_table(cache, entry, NULL);
	entry->row = (struct stored_table){};
	entry->state = TABLE_NONE;
	entry->checked_at = NEVER_CHECKED;
	entry->forgotten = false;
}

static void install(struct symbol_cache *cache, struct cache_entry *entry,
		    const struct finding *finding)
{
	if (entry->forgotten) {
		open_table_release(finding->table);
		symbol_cache_reset(cache, entry);
		return;
	}
	entry->row = finding->row;
	if (finding->table)
		symbol_cache_set_table(cache, entry, finding->table);
	if (!finding->has_sources)
		entry->state = entry->table ? TABLE_READY : TABLE_NONE;
	else if (finding->row.layout_version != 0 && finding->row.outcome != HELPER_MADE_TABLE)
		entry->state = TABLE_FAILED;
	else
		entry->state = TABLE_READY;
	if (finding->wants_job)
		compile_queue_add(cache, entry);
}

static void check_failed(struct cache_entry *entry, int error)
{
	char id_text[EXECUTABLE_ID_TEXT_SIZE];

	executable_id_format(&entry->id, id_text);
	log_warn_errno(error,
		       "cannot look for the debuginfo of '%s', its frames stay without names: %m",
		       id_text);
	entry->state = TABLE_FAILED;
	(void)snprintf(entry->row.why, sizeof(entry->row.why), "temporary error: %s",
		       strerror(-error));
}

/* Checks an entry. Releases the lock meanwhile. */
static int refresh(struct symbol_cache *cache, struct cache_entry *entry)
{
	struct finding finding = { .row = entry->row };
	struct open_table *open = entry->table;
	uint64_t generation;
	int r;

	entry->busy = true;
	(void)pthread_mutex_unlock(&cache->lock);
	generation = debuginfo_generation(cache->compiler.debuginfo);
	r = check(cache, &entry->id, open, &finding);
	(void)pthread_mutex_lock(&cache->lock);

	entry->busy = false;
	entry->checked_at = generation;
	entry->checked_wall_ns = clock_wall_ns(cache->compiler.clock);
	entry->check_again = r < 0;
	if (r == 0)
		install(cache, entry, &finding);
	else if (r != -ENOMEM)
		check_failed(entry, r);
	(void)pthread_cond_broadcast(&cache->changed);
	return r == -ENOMEM ? r : 0;
}

static bool is_stale(struct symbol_cache *cache, const struct cache_entry *entry)
{
	return entry->checked_at == NEVER_CHECKED ||
	       entry->checked_at < debuginfo_generation(cache->compiler.debuginfo) ||
	       (entry->state == TABLE_FAILED && is_due(cache, &entry->row));
}

/* ---- borrowing ---------------------------------------------------------------------------------
 */

/* Waits until an entry changes or @until_ns. Returns false without waiting after @until_ns. */
static bool wait_until(struct symbol_cache *cache, uint64_t until_ns)
{
	if (symbol_cache_now_ns() >= until_ns)
		return false;
	(void)condition_wait_until(&cache->changed, &cache->lock, until_ns);
	return true;
}

/*
 * Finds or adds the entry of @id, and brings it up to date within the time. The caller holds the
 * lock.
 */
static int find_current(struct symbol_cache *cache, const struct executable_id *id,
			uint64_t patience_ns, struct cache_entry **ret_entry)
{
	const uint64_t deadline_ns = symbol_cache_now_ns() + patience_ns;
	bool looked = false;

	for (;;) {
		struct cache_entry *entry;
		int r = find_or_add(cache, id, &entry);

		if (r < 0)
			return r;
		/* The entry may be evicted during a wait, so it is looked up again. */
		if (entry->busy) {
			(void)pthread_cond_wait(&cache->changed, &cache->lock);
			continue;
		}
		if (entry->job == JOB_NONE &&
		    (looked ? is_stale(cache, entry) && symbol_cache_now_ns() < deadline_ns
			    : is_stale(cache, entry) || entry->check_again)) {
			looked = true;
			r = refresh(cache, entry);
			if (r < 0)
				return r;
			continue;
		}
		if (entry->job == JOB_NONE ||
		    !wait_until(cache, MIN(deadline_ns, entry->job_since_ns + patience_ns))) {
			*ret_entry = entry;
			return 0;
		}
		looked = true;
	}
}

int symbol_cache_borrow(struct symbol_cache *cache, const struct executable_id *id,
			uint64_t patience_ns, struct table_loan *ret_loan)
{
	struct cache_entry *entry = NULL;
	int r;

	(void)pthread_mutex_lock(&cache->lock);
	r = find_current(cache, id, patience_ns, &entry);
	if (r == 0) {
		*ret_loan = (struct table_loan){
			.file = entry->table ? entry->table->file : NULL,
			.state = entry->state,
			.pending = entry->job != JOB_NONE,
			.table = entry->table,
		};
		memcpy(ret_loan->why, entry->row.why, sizeof(ret_loan->why));
		if (entry->table)
			entry->table->references++;
		unlink_entry(cache, entry);
		link_newest(cache, entry);
		evict(cache);
	}
	(void)pthread_mutex_unlock(&cache->lock);
	return r;
}

void symbol_cache_give_back(struct symbol_cache *cache, struct table_loan *loan)
{
	if (!loan->table)
		return;
	(void)pthread_mutex_lock(&cache->lock);
	open_table_release(loan->table);
	(void)pthread_mutex_unlock(&cache->lock);
	*loan = (struct table_loan){};
}

int symbol_cache_forget(struct symbol_cache *cache, const struct executable_id *id)
{
	struct cache_entry **value;
	int r;

	r = table_database_remove(cache->compiler.database, id);
	(void)pthread_mutex_lock(&cache->lock);
	value = hash_table_find(cache->entries, id);
	if (value && ((*value)->busy || (*value)->job != JOB_NONE)) {
		(*value)->forgotten = true;
	} else if (value) {
		symbol_cache_set_table(cache, *value, NULL);
		drop_entry(cache, *value);
	}
	(void)pthread_mutex_unlock(&cache->lock);
	return MIN(r, 0);
}

/* ---- status ------------------------------------------------------------------------------------
 */

int symbol_cache_status(struct symbol_cache *cache, const struct executable_id *id,
			struct table_status *ret_status)
{
	struct cache_entry *entry;
	int r;

	(void)pthread_mutex_lock(&cache->lock);
	r = find_current(cache, id, 0, &entry);
	if (r == 0)
		*ret_status = (struct table_status){
			.state = entry->state,
			.pending = entry->job != JOB_NONE,
			.running = entry->job == JOB_RUNS,
			.row = entry->row,
			.checked_wall_ns = entry->checked_wall_ns,
		};
	(void)pthread_mutex_unlock(&cache->lock);
	return r;
}

struct symbol_cache_counts symbol_cache_counts(struct symbol_cache *cache)
{
	struct symbol_cache_counts counts = {
		.stored_bytes = table_database_bytes(cache->compiler.database),
		.n_made = atomic_load(&cache->compiler.n_made),
		.n_refused = atomic_load(&cache->compiler.n_refused),
		.n_died = atomic_load(&cache->compiler.n_died),
	};

	(void)pthread_mutex_lock(&cache->lock);
	counts.bytes = cache->bytes + flat_files_left_bytes(cache->files);
	counts.n_open = cache->n_open;
	counts.n_pending = cache->n_pending;
	(void)pthread_mutex_unlock(&cache->lock);
	return counts;
}
