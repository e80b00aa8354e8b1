/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who uses which connection. The writer belongs to one thread at a time, in the order in which they
 * asked: a mutex alone would let a thread that makes many short changes take it again before the
 * threads that wait. Long reads have a connection each, so that the short lookups of ingest and of
 * I/O threads (store->reader) never wait for them.
 */

#include "symbolizer/debuginfo/debuginfo_private.h"

void debuginfo_write_begin(struct debuginfo_store *store)
{
	(void)pthread_mutex_lock(&store->write_queue_lock);
	(void)pthread_mutex_lock(&store->write_lock);
	(void)pthread_mutex_unlock(&store->write_queue_lock);
}

void debuginfo_write_end(struct debuginfo_store *store)
{
	(void)pthread_mutex_unlock(&store->write_lock);
}

int debuginfo_reader_take(struct debuginfo_store *store, struct sqlite_db **ret_db)
{
	struct sqlite_db *db = NULL;

	(void)pthread_mutex_lock(&store->idle_lock);
	if (store->n_idle > 0)
		db = store->idle[--store->n_idle];
	(void)pthread_mutex_unlock(&store->idle_lock);
	if (!db)
		return debuginfo_db_open(store->folder, false, ret_db);
	*ret_db = db;
	return 0;
}

void debuginfo_reader_give_back(struct debuginfo_store *store, struct sqlite_db *db)
{
	if (!db)
		return;
	sqlite_rollback(db);
	(void)pthread_mutex_lock(&store->idle_lock);
	if (store->n_idle < MAX_IDLE_READERS) {
		store->idle[store->n_idle++] = db;
		db = NULL;
	}
	(void)pthread_mutex_unlock(&store->idle_lock);
	(void)sqlite_db_free(db);
}
