/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files that were stored before debuginfo.db had aliases get theirs from a thread, because reading
 * both ends of thousands of files would delay the start. The table `unhashed` has what is left, so
 * a server that stops early continues at its next start.
 */

#include "common/log.h"
#include "common/thread.h"
#include "symbolizer/debuginfo/debuginfo_private.h"

/* Files that one transaction takes from the table. Each transaction makes caches look again. */
#define BATCH_FILES 64

struct batch {
	int64_t files[BATCH_FILES];
	size_t n_files;
	struct debuginfo_alias aliases[BATCH_FILES];
	size_t n_aliases;
};

static int read_files(struct debuginfo_store *store, struct batch *batch)
{
	struct sqlite_db *db = NULL;
	int r;

	r = debuginfo_reader_take(store, &db);
	if (r == 0) {
		scoped(sqlite_resetp) sqlite3_stmt *row = NULL;

		r = sqlite_query(db, SQL_UNHASHED, &row, SQL_INT(BATCH_FILES));
		while (r > 0 && batch->n_files < BATCH_FILES) {
			batch->files[batch->n_files++] = sqlite3_column_int64(row, 0);
			r = sqlite_step(db, row);
		}
	}
	debuginfo_reader_give_back(store, db);
	return MIN(r, 0);
}

/* Returns 1; 0: the file was removed or is damaged, or has its htlhash as its identity. */
static int hash_file(struct debuginfo_store *store, int64_t file, struct debuginfo_alias *ret_alias)
{
	scoped(debuginfo_view_releasep) struct debuginfo_view view;
	const struct debuginfo_entry *entry = &view.file.entry;
	uint64_t piece;
	int r;

	r = debuginfo_view_open_id(store, file, &view);
	if (r <= 0 || entry->id.kind == EXECUTABLE_ID_HTLHASH)
		return MIN(r, 0);
	piece = MIN(entry->size_bytes, (uint64_t)DEBUGINFO_HTLHASH_END_BYTES);
	r = debuginfo_view_read(&view, 0, piece);
	if (r == 0)
		r = debuginfo_view_read(&view, entry->size_bytes - piece, piece);
	if (r == 0)
		r = debuginfo_htlhash_of_fd(view.fd, entry->size_bytes, &ret_alias->htlhash);
	if (r < 0)
		return view.damaged ? 0 : r;
	ret_alias->id = entry->id;
	ret_alias->origin = entry->origin;
	return 1;
}

static int store_batch(struct debuginfo_store *store, void *arg)
{
	const struct batch *batch = arg;
	int r = 0;

	for (size_t i = 0; i < batch->n_aliases && r >= 0; i++)
		r = debuginfo_alias_put(store->writer, &batch->aliases[i]);
	for (size_t i = 0; i < batch->n_files && r >= 0; i++)
		r = sqlite_run(store->writer, SQL_UNHASHED_REMOVE, SQL_INT(batch->files[i]));
	return r < 0 ? r : 1;
}

/* Returns 1, or 0 if no file is left or the store is being closed. */
static int hash_some(struct debuginfo_store *store)
{
	struct batch batch = {};
	int r;

	r = read_files(store, &batch);
	for (size_t i = 0; i < batch.n_files && r >= 0; i++) {
		if (atomic_load(&store->stopping))
			return 0;
		r = hash_file(store, batch.files[i], &batch.aliases[batch.n_aliases]);
		if (r > 0)
			batch.n_aliases++;
	}
	if (r < 0 || batch.n_files == 0)
		return r;
	return debuginfo_change(store, store_batch, &batch);
}

static void warn(const struct debuginfo_store *store, int error)
{
	(void)log_warn_errno(
		error,
		"cannot hash all files that an older version stored in '%s/debuginfo.db', some are "
		"not found by their htlhash until the next start: %m",
		store->folder);
}

static void *work(void *arg)
{
	struct debuginfo_store *store = arg;
	int r;

	do
		r = hash_some(store);
	while (r > 0);
	if (r < 0)
		warn(store, r);
	return NULL;
}

void debuginfo_backfill_start(struct debuginfo_store *store)
{
	struct batch first = {};
	int r;

	r = read_files(store, &first);
	if (r == 0 && first.n_files > 0)
		r = thread_start("hearth-hash", work, store, &store->backfill);
	if (r < 0)
		warn(store, r);
	else
		store->has_backfill = first.n_files > 0;
}

void debuginfo_backfill_stop(struct debuginfo_store *store)
{
	atomic_store(&store->stopping, true);
	if (store->has_backfill)
		(void)pthread_join(store->backfill, NULL);
}
