/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Retention removes day files, and a new file of the same name may follow. When the list of days
 * has lost an entry, a set therefore closes its day connections before it opens the next one. Idle
 * sets are closed by the thread that removes the file, and a busy set is closed when it is
 * returned: the disk space of a removed file is free only after the last connection to it is
 * closed.
 */

#include "symbolizer/store/sqlite/connections.h"

#include <pthread.h>

/* Most scans at the same time. Each has its page caches. */
#define SCAN_READER_COUNT 4

/* One more set for the lookups of ingest, so that they never wait for scans. */
#define READER_COUNT (SCAN_READER_COUNT + 1)

struct reader_pool {
	pthread_mutex_t lock;
	pthread_cond_t returned;
	unsigned int n_scans; /* running now */
	struct connection_set sets[READER_COUNT];
};

static size_t n_slots(const struct connection_set *set)
{
	return set->writer ? WRITER_DAYS : READER_DAYS;
}

void connection_set_close_days(struct connection_set *set)
{
	for (size_t i = 0; i < n_slots(set); i++) {
		set->days[i].db = sqlite_db_free(set->days[i].db);
		set->days[i].used = 0;
	}
}

void connection_set_release(struct connection_set *set)
{
	connection_set_close_days(set);
	set->hearth = sqlite_db_free(set->hearth);
	block_scratch_release(&set->scratch);
}

int connection_set_hearth(struct connection_set *set, struct sqlite_db **ret_db)
{
	int r;

	if (!set->hearth) {
		r = hearth_db_open(set->folder, set->writer, &set->hearth);
		if (r < 0)
			return r;
	}
	*ret_db = set->hearth;
	return 0;
}

/* Returns the slot with a connection to @day, or else the least recently used slot. */
static struct day_connection *slot_for(struct connection_set *set, day_number day)
{
	struct day_connection *oldest = &set->days[0];

	for (size_t i = 0; i < n_slots(set); i++) {
		struct day_connection *slot = &set->days[i];

		if (slot->db && slot->day == day)
			return slot;
		if (slot->used < oldest->used)
			oldest = slot;
	}
	return oldest;
}

static void close_stale_days(struct connection_set *set)
{
	uint64_t generation = store_state_generation(set->state);

	if (generation == set->generation)
		return;
	connection_set_close_days(set);
	set->generation = generation;
}

int connection_set_day(struct connection_set *set, day_number day, struct sqlite_db **ret_db)
{
	struct day_connection *slot;
	int r;

	close_stale_days(set);
	slot = slot_for(set, day);
	if (!slot->db || slot->day != day) {
		slot->db = sqlite_db_free(slot->db);
		slot->used = 0;
		r = day_db_open(set->folder, day, set->writer, set->identity, &slot->db);
		if (r < 0)
			return r;
		slot->day = day;
	}
	slot->used = ++set->turn;
	*ret_db = slot->db;
	return 0;
}

int reader_pool_new(const char *folder, const struct store_identity *identity,
		    struct store_state *state, struct reader_pool **ret_pool)
{
	struct reader_pool *pool = calloc(1, sizeof(*pool));

	if (!pool)
		return -ENOMEM;
	(void)pthread_mutex_init(&pool->lock, NULL);
	(void)pthread_cond_init(&pool->returned, NULL);
	for (size_t i = 0; i < READER_COUNT; i++)
		pool->sets[i] = (struct connection_set){
			.folder = folder,
			.identity = identity,
			.state = state,
		};
	*ret_pool = pool;
	return 0;
}

struct reader_pool *reader_pool_free(struct reader_pool *pool)
{
	if (!pool)
		return NULL;
	for (size_t i = 0; i < READER_COUNT; i++) {
		assert(!pool->sets[i].busy);
		connection_set_release(&pool->sets[i]);
	}
	(void)pthread_cond_destroy(&pool->returned);
	(void)pthread_mutex_destroy(&pool->lock);
	free(pool);
	return NULL;
}

static struct connection_set *find_free_set(struct reader_pool *pool, enum reader_kind kind)
{
	if (kind == READER_SCAN && pool->n_scans == SCAN_READER_COUNT)
		return NULL;
	for (size_t i = 0; i < READER_COUNT; i++)
		if (!pool->sets[i].busy)
			return &pool->sets[i];
	return NULL;
}

struct reader reader_borrow(struct reader_pool *pool, enum reader_kind kind)
{
	struct reader reader = { .pool = pool, .kind = kind };

	(void)pthread_mutex_lock(&pool->lock);
	while (!(reader.set = find_free_set(pool, kind)))
		(void)pthread_cond_wait(&pool->returned, &pool->lock);
	reader.set->busy = true;
	pool->n_scans += kind == READER_SCAN;
	(void)pthread_mutex_unlock(&pool->lock);
	return reader;
}

void reader_returnp(struct reader *reader)
{
	(void)pthread_mutex_lock(&reader->pool->lock);
	/*
	 * Closes them under the lock, so that reader_pool_close_stale() finds each set either busy
	 * or closed.
	 */
	close_stale_days(reader->set);
	reader->set->busy = false;
	reader->pool->n_scans -= reader->kind == READER_SCAN;
	/* Wakes all waiters, because a scan may have to wait on where a lookup need not. */
	(void)pthread_cond_broadcast(&reader->pool->returned);
	(void)pthread_mutex_unlock(&reader->pool->lock);
}

void reader_pool_close_stale(struct reader_pool *pool)
{
	(void)pthread_mutex_lock(&pool->lock);
	for (size_t i = 0; i < READER_COUNT; i++)
		if (!pool->sets[i].busy)
			close_stale_days(&pool->sets[i]);
	(void)pthread_mutex_unlock(&pool->lock);
}
