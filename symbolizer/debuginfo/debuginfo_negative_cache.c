/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keys that no upstream server had, in the table "miss". The wait until the next attempt doubles
 * with every failed one: most missing files were never published, but a build from this morning
 * may be published at noon. Times are wall time, because the table outlives the process. A clock
 * step costs one request too many, or delays one.
 */

#include "common/log.h"
#include "symbolizer/debuginfo/debuginfo_private.h"

#define MISSING_FIRST_NS (600 * NSEC_PER_SEC)
#define MISSING_MAX_NS   (7 * 86400 * NSEC_PER_SEC)

#define UNREACHABLE_FIRST_NS (60 * NSEC_PER_SEC)
#define UNREACHABLE_MAX_NS   (3600 * NSEC_PER_SEC)

/* After so many doublings both waits have reached their maximum. */
#define MAX_DOUBLINGS 16u

struct miss {
	unsigned int failures;
	uint64_t not_before_ns;
};

static int read_miss(struct debuginfo_store *store, const struct debuginfo_key *key,
		     struct miss *ret_miss)
{
	scoped(sqlite_resetp) sqlite3_stmt *row = NULL;
	int r;

	(void)pthread_mutex_lock(&store->read_lock);
	r = sqlite_query(store->reader, SQL_MISS_READ, &row, SQL_INT(key->id.kind),
			 SQL_BLOB(key->id.bytes, key->id.size), SQL_INT(key->kind),
			 SQL_TEXT(key->path));
	if (r > 0)
		*ret_miss = (struct miss){
			.failures = (unsigned int)sqlite3_column_int(row, 0),
			.not_before_ns = (uint64_t)sqlite3_column_int64(row, 1),
		};
	/* Resets the statement before the unlock, because the next thread that takes the lock uses
	 * it. */
	sqlite_resetp(&row);
	row = NULL;
	(void)pthread_mutex_unlock(&store->read_lock);
	return r;
}

int negative_cache_contains(struct debuginfo_store *store, const struct debuginfo_key *key)
{
	struct miss miss;
	int r = read_miss(store, key, &miss);

	return r > 0 ? miss.not_before_ns > clock_wall_ns(store->clock) : r;
}

int negative_cache_read(struct debuginfo_store *store, const struct debuginfo_key *key,
			uint32_t *ret_failures, uint64_t *ret_again_wall_ns)
{
	struct miss miss;
	int r = read_miss(store, key, &miss);

	if (r > 0) {
		*ret_failures = miss.failures;
		*ret_again_wall_ns = miss.not_before_ns;
	}
	return r;
}

static uint64_t wait_after(unsigned int failures, bool unreachable)
{
	uint64_t first = unreachable ? UNREACHABLE_FIRST_NS : MISSING_FIRST_NS;
	uint64_t max = unreachable ? UNREACHABLE_MAX_NS : MISSING_MAX_NS;

	failures = MIN(failures, MAX_DOUBLINGS);
	return MIN(first << failures, max);
}

void negative_cache_add(struct debuginfo_store *store, const struct debuginfo_key *key,
			bool unreachable)
{
	uint64_t now = clock_wall_ns(store->clock);
	struct miss miss = {};
	int r;

	r = read_miss(store, key, &miss);
	if (r < 0)
		return;
	debuginfo_write_begin(store);
	r = sqlite_run(store->writer, SQL_MISS_PUT, SQL_INT(key->id.kind),
		       SQL_BLOB(key->id.bytes, key->id.size), SQL_INT(key->kind),
		       SQL_TEXT(key->path), SQL_INT(miss.failures + 1),
		       SQL_INT(now + wait_after(miss.failures, unreachable)));
	/* Rows of build-IDs that are no longer requested are removed. */
	if (r == 0 && now > 2 * MISSING_MAX_NS)
		(void)sqlite_run(store->writer, SQL_MISS_OLD, SQL_INT(now - 2 * MISSING_MAX_NS));
	debuginfo_write_end(store);
	if (r < 0)
		log_warn_errno(r,
			       "cannot record in '%s/debuginfo.db' that upstream servers lack a "
			       "file, they are asked again: %m",
			       store->folder);
}
