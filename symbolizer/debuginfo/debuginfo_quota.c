/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The limit of stored bytes. Content that is being read is pinned and not evicted, because it would
 * only be requested again.
 */

#include <inttypes.h>

#include "common/log.h"
#include "symbolizer/debuginfo/debuginfo_private.h"

void debuginfo_store_set_quota(struct debuginfo_store *store, uint64_t quota_bytes,
			       uint64_t low_bytes)
{
	atomic_store(&store->low_bytes, MIN(low_bytes, quota_bytes));
	atomic_store(&store->quota_bytes, quota_bytes);
}

struct debuginfo_totals debuginfo_store_totals(struct debuginfo_store *store)
{
	return (struct debuginfo_totals){
		.stored_bytes = atomic_load(&store->stored_bytes),
		.n_evicted = atomic_load(&store->n_evicted),
	};
}

/*
 * Without memory the content is not pinned. Then it may be evicted, which costs a second upload at
 * most: the reader's transaction still sees it.
 */
void debuginfo_pin(struct debuginfo_store *store, int64_t content)
{
	void *count;

	(void)pthread_mutex_lock(&store->idle_lock);
	if (hash_table_insert(store->pins, &content, &count) >= 0)
		*(unsigned int *)count += 1;
	(void)pthread_mutex_unlock(&store->idle_lock);
}

void debuginfo_unpin(struct debuginfo_store *store, int64_t content)
{
	unsigned int *count;

	(void)pthread_mutex_lock(&store->idle_lock);
	count = hash_table_find(store->pins, &content);
	if (count && --*count == 0)
		(void)hash_table_remove(store->pins, &content);
	(void)pthread_mutex_unlock(&store->idle_lock);
}

static bool is_pinned(struct debuginfo_store *store, int64_t content)
{
	bool pinned;

	(void)pthread_mutex_lock(&store->idle_lock);
	pinned = hash_table_find(store->pins, &content) != NULL;
	(void)pthread_mutex_unlock(&store->idle_lock);
	return pinned;
}

int debuginfo_quota_allows(struct debuginfo_store *store, enum debuginfo_origin origin,
			   uint64_t size)
{
	uint64_t quota = atomic_load(&store->quota_bytes);
	struct sqlite_db *db = NULL;
	uint64_t taken = 0;
	int r = 0;

	if (quota == 0 || atomic_load(&store->stored_bytes) + size <= quota)
		return 0;
	if (origin < DEBUGINFO_FROM_PIPELINE) {
		r = debuginfo_reader_take(store, &db);
		if (r == 0)
			r = debuginfo_db_number(db, SQL_PIPELINE_BYTES, &taken);
		debuginfo_reader_give_back(store, db);
	}
	if (r < 0)
		return r;
	return size > quota || taken > quota - size ? -EDQUOT : 0;
}

/* One run of evictions. */
struct eviction {
	int64_t keep;                /* the new file; 0: it may be evicted too */
	enum debuginfo_origin below; /* only files of less trusted origins are evicted */
	int64_t file;                /* evicted last */
	uint64_t freed_bytes;
	uint64_t n_files;
};

/* Runs in a transaction. Returns 1 if a file was evicted, 0 if none can be. */
static int evict_one(struct debuginfo_store *store, void *arg)
{
	struct eviction *eviction = arg;
	scoped(sqlite_resetp) sqlite3_stmt *row = NULL;
	uint64_t bytes = 0;
	int r;

	r = sqlite_query(store->writer, SQL_EVICTION_ORDER, &row, SQL_INT(eviction->below),
			 SQL_INT(eviction->keep));
	while (r > 0 && is_pinned(store, sqlite3_column_int64(row, 1)))
		r = sqlite_step(store->writer, row);
	if (r <= 0)
		return r;
	eviction->file = sqlite3_column_int64(row, 0);
	bytes = (uint64_t)sqlite3_column_int64(row, 2);
	(void)sqlite3_reset(row);
	r = debuginfo_db_remove_file(store->writer, eviction->file);
	if (r < 0)
		return r;
	eviction->freed_bytes += bytes;
	eviction->n_files++;
	return 1;
}

int debuginfo_enforce_quota(struct debuginfo_store *store, int64_t file,
			    enum debuginfo_origin origin)
{
	bool is_pipeline = origin == DEBUGINFO_FROM_PIPELINE;
	struct eviction eviction = {
		.keep = is_pipeline ? file : 0,
		.below = is_pipeline ? DEBUGINFO_FROM_PIPELINE + 1 : DEBUGINFO_FROM_PIPELINE,
	};
	uint64_t quota = atomic_load(&store->quota_bytes);
	bool evicted_itself = false;
	int r = 1;

	if (quota == 0 || atomic_load(&store->stored_bytes) <= quota)
		return 0;
	while (r > 0 && atomic_load(&store->stored_bytes) > atomic_load(&store->low_bytes)) {
		r = debuginfo_change(store, evict_one, &eviction);
		evicted_itself = evicted_itself || (r > 0 && eviction.file == file);
	}
	atomic_fetch_add(&store->n_evicted, eviction.n_files);
	if (eviction.n_files > 0)
		log_info("evicted %" PRIu64 " debuginfo files to keep debuginfo.quota, the least "
			 "recently used first, files of pipelines last",
			 eviction.n_files);
	if (r < 0)
		return r;
	return evicted_itself ? -EDQUOT : 0;
}
