/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks one identity per call, so that no request takes longer than reading its files.
 */

#include "common/vec.h"
#include "symbolizer/debuginfo/debuginfo_private.h"

VEC_DEFINE(file_ids, int64_t);

static int collect_ids(struct debuginfo_store *store, const struct executable_id *id,
		       struct file_ids *ids)
{
	scoped(sqlite_resetp) sqlite3_stmt *row = NULL;
	int r;

	(void)pthread_mutex_lock(&store->read_lock);
	r = sqlite_query(store->reader, SQL_FILES_OF, &row, SQL_INT(id->kind),
			 SQL_BLOB(id->bytes, id->size));
	while (r > 0) {
		r = vec_push(ids, sqlite3_column_int64(row, 0));
		if (r == 0)
			r = sqlite_step(store->reader, row);
	}
	/* Resets the statement before the unlock, because the next thread that takes the lock uses
	 * it. */
	sqlite_resetp(&row);
	(void)pthread_mutex_unlock(&store->read_lock);
	return r;
}

/* The hashes of chunks do not detect forgery. SHA-256 does, if it is known. */
static int compare_sha256(struct debuginfo_view *view)
{
	static const uint8_t unknown[DEBUGINFO_SHA256_BYTES];
	const struct debuginfo_entry *entry = &view->file.entry;
	uint8_t sha256[DEBUGINFO_SHA256_BYTES];
	int r;

	if (memcmp(entry->sha256, unknown, sizeof(unknown)) == 0)
		return 0;
	r = debuginfo_sha256_of_fd(view->fd, entry->size_bytes, sha256);
	if (r < 0 || memcmp(sha256, entry->sha256, sizeof(sha256)) == 0)
		return r;
	view->damaged = true;
	return -EIO;
}

static int check_file(struct debuginfo_store *store, int64_t file, struct debuginfo_check *check)
{
	scoped(debuginfo_view_releasep) struct debuginfo_view view;
	int r;

	r = debuginfo_view_open_id(store, file, &view);
	if (r <= 0)
		return r;
	check->n_files++;
	check->size_bytes += view.file.entry.size_bytes;
	r = debuginfo_view_read_all(&view);
	if (r == 0)
		r = compare_sha256(&view);
	if (!view.damaged)
		return r;
	check->n_damaged++;
	return 0;
}

int debuginfo_check(struct debuginfo_store *store, const struct executable_id *id,
		    struct debuginfo_check *ret_check)
{
	struct debuginfo_check check = {};
	struct file_ids ids = {};
	int r;

	r = collect_ids(store, id, &ids);
	for (size_t i = 0; i < ids.count && r == 0; i++)
		r = check_file(store, ids.items[i], &check);
	vec_release(&ids);
	if (r < 0)
		return r;
	*ret_check = check;
	return check.n_files > 0;
}
