/* SPDX-License-Identifier: Apache-2.0 */
#include "common/log.h"
#include "symbolizer/debuginfo/debuginfo_private.h"
#include "symbolizer/debuginfo/upstream_private.h"

/*
 * What no server had. It is asked for again after a while, and then after twice as long: most of
 * what is missing today was never published, but a build of this morning may be there at noon. Wall
 * time, because it outlives the process; a clock that jumps costs a request too many or too late.
 */

#define MISSING_FIRST_NS (600 * NSEC_PER_SEC)
#define MISSING_MAX_NS   (7 * 86400 * NSEC_PER_SEC)

#define FAILED_FIRST_NS (60 * NSEC_PER_SEC)
#define FAILED_MAX_NS   (3600 * NSEC_PER_SEC)

/* Beyond it both have reached their ends. */
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
	/* Within the lock: the statement belongs to whoever has it. */
	sqlite_resetp(&row);
	row = NULL;
	(void)pthread_mutex_unlock(&store->read_lock);
	return r;
}

int upstream_is_missing(struct debuginfo_store *store, const struct debuginfo_key *key)
{
	struct miss miss;
	int r = read_miss(store, key, &miss);

	return r > 0 ? miss.not_before_ns > clock_wall_ns(store->clock) : r;
}

int upstream_last_miss(struct debuginfo_store *store, const struct debuginfo_key *key,
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

static uint64_t wait_after(unsigned int failures, bool failed)
{
	uint64_t first = failed ? FAILED_FIRST_NS : MISSING_FIRST_NS;
	uint64_t max = failed ? FAILED_MAX_NS : MISSING_MAX_NS;

	failures = MIN(failures, MAX_DOUBLINGS);
	return MIN(first << failures, max);
}

void upstream_note_missing(struct debuginfo_store *store, const struct debuginfo_key *key,
			   bool failed)
{
	uint64_t now = clock_wall_ns(store->clock);
	struct miss miss = {};
	int r;

	r = read_miss(store, key, &miss);
	if (r < 0)
		return;
	(void)pthread_mutex_lock(&store->write_lock);
	r = sqlite_run(store->writer, SQL_MISS_PUT, SQL_INT(key->id.kind),
		       SQL_BLOB(key->id.bytes, key->id.size), SQL_INT(key->kind),
		       SQL_TEXT(key->path), SQL_INT(miss.failures + 1),
		       SQL_INT(now + wait_after(miss.failures, failed)));
	/* A build-ID that nobody asks for any more needs no memory. */
	if (r == 0 && now > 2 * MISSING_MAX_NS)
		(void)sqlite_run(store->writer, SQL_MISS_OLD, SQL_INT(now - 2 * MISSING_MAX_NS));
	(void)pthread_mutex_unlock(&store->write_lock);
	if (r < 0)
		log_warn_errno(r,
			       "cannot remember what upstream servers lack in '%s/debuginfo.db', "
			       "they are asked again: %m",
			       store->folder);
}
