/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Retention, and deletion of one service or tenant.
 *
 * A day is first made unavailable: from then on no flush, compaction or query opens its file. Then
 * the file is removed without a lock, because that takes long for a large file. Rows of a batch in
 * the inbox may be of a removed day; the flush drops them, so that the day does not return.
 */

#include <stdio.h>
#include <sys/stat.h>

#include "symbolizer/store/segment_db/segment_db_private.h"

/* Epochs deleted by one commit. */
#define EPOCHS_PER_COMMIT 64

segment_day segment_db_oldest_day(struct segment_db *db)
{
	segment_day day;

	(void)pthread_mutex_lock(&db->inbox_lock);
	day = db->oldest_day;
	(void)pthread_mutex_unlock(&db->inbox_lock);
	return day;
}

/* Waits for a flush or compaction that may have the file open. */
static void set_oldest_day(struct segment_db *db, segment_day day)
{
	(void)pthread_mutex_lock(&db->files_lock);
	(void)pthread_mutex_lock(&db->inbox_lock);
	db->oldest_day = MAX(db->oldest_day, day);
	(void)pthread_mutex_unlock(&db->inbox_lock);
	(void)pthread_mutex_unlock(&db->files_lock);
}

/* Removes the files of the first @count days. */
static int remove_days(struct segment_db *db, const struct segment_days *days, size_t count,
		       size_t *ret_removed)
{
	if (count > 0)
		set_oldest_day(db, days->items[count - 1] + 1);
	for (size_t i = 0; i < count; i++) {
		int r = day_file_remove(db->folder, days->items[i]);

		if (r < 0)
			return r;
	}
	*ret_removed = count;
	return 0;
}

int segment_db_prune(struct segment_db *db, uint64_t before_wall_ns, size_t *ret_removed)
{
	const segment_day end = segment_day_of_slot(before_wall_ns / SLOT_NS);
	scoped(segment_days_release) struct segment_days days = {};
	size_t count = 0;
	int r = day_files_list(db->folder, &days);

	if (r < 0)
		return r;
	set_oldest_day(db, end);
	while (count < days.count && days.items[count] < end)
		count++;
	return remove_days(db, &days, count, ret_removed);
}

static uint64_t inbox_bytes(const struct segment_db *db)
{
	static const char *const names[] = { "inbox.db", "inbox.db-wal" };
	uint64_t bytes = 0;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		scoped_free char *path = NULL;
		struct stat status;

		if (asprintf(&path, "%s/%s", db->folder, names[i]) >= 0 && stat(path, &status) == 0)
			bytes += (uint64_t)status.st_blocks * 512;
	}
	return bytes;
}

int segment_db_disk_bytes(struct segment_db *db, uint64_t *ret_bytes)
{
	scoped(segment_days_release) struct segment_days days = {};
	uint64_t bytes = inbox_bytes(db);
	int r = day_files_list(db->folder, &days);

	if (r < 0)
		return r;
	for (size_t i = 0; i < days.count; i++)
		bytes += day_file_bytes(db->folder, days.items[i]);
	*ret_bytes = bytes;
	return 0;
}

int segment_db_prune_to_bytes(struct segment_db *db, uint64_t max_bytes, size_t *ret_removed)
{
	scoped(segment_days_release) struct segment_days days = {};
	uint64_t bytes;
	size_t count = 0;
	int r = segment_db_disk_bytes(db, &bytes);

	if (r == 0)
		r = day_files_list(db->folder, &days);
	if (r < 0)
		return r;
	while (bytes > max_bytes && count + 1 < days.count) {
		uint64_t freed = day_file_bytes(db->folder, days.items[count++]);

		bytes -= MIN(bytes, freed);
	}
	return remove_days(db, &days, count, ret_removed);
}
/* Deletes the segments of the tenant, and if @service is not NULL, of this service only. */
static int delete_in_file(struct sqlite_db *file, const char *tenant, const char *service)
{
	int r = sqlite_begin(file);

	if (r == 0 && service) {
		r = sqlite_run(file, DAY_SQL_DELETE_SERVICE_CONTENT, SQL_TEXT(tenant),
			       SQL_TEXT(service));
		if (r == 0)
			r = sqlite_run(file, DAY_SQL_DELETE_SERVICE, SQL_TEXT(tenant),
				       SQL_TEXT(service));
	} else if (r == 0) {
		r = sqlite_run(file, DAY_SQL_DELETE_TENANT_CONTENT, SQL_TEXT(tenant));
		if (r == 0)
			r = sqlite_run(file, DAY_SQL_DELETE_TENANT, SQL_TEXT(tenant));
	}
	if (r == 0)
		r = sqlite_commit(file);
	else
		sqlite_rollback(file);
	return r < 0 ? r : sqlite_db_run(file, SEGMENT_VACUUM);
}

/* The caller holds files_lock. */
static int delete_in_days(struct segment_db *db, const char *tenant, const char *service)
{
	scoped(segment_days_release) struct segment_days days = {};
	int r = day_files_list(db->folder, &days);

	for (size_t i = 0; i < days.count && r >= 0; i++) {
		scoped(sqlite_db_freep) struct sqlite_db *file = NULL;

		if (days.items[i] < db->oldest_day)
			continue;
		r = day_file_open(db->folder, days.items[i], DAY_FILE_WRITE, &file);
		if (r > 0)
			r = delete_in_file(file, tenant, service);
	}
	return MIN(r, 0);
}

int segment_db_delete_service(struct segment_db *db, const char *tenant, const char *service,
			      uint64_t now_wall_ns)
{
	int r;

	(void)pthread_mutex_lock(&db->files_lock);
	r = flush_all(db, now_wall_ns);
	if (r == 0)
		r = delete_in_days(db, tenant, service);
	(void)pthread_mutex_unlock(&db->files_lock);
	return r;
}

/* Deletes the definitions on disk and in memory, while no batch in the inbox needs them. */
static int delete_definitions(struct segment_db *db, const char *tenant, uint64_t now_wall_ns)
{
	int r = 0;

	if (db->head_is_incomplete)
		r = replay(db, now_wall_ns);
	if (r == 0)
		r = flush_run(db, db->state.max_id, now_wall_ns);
	if (r == 0)
		r = sqlite_run(db->inbox, INBOX_SQL_CHUNK_DELETE_TENANT, SQL_TEXT(tenant));
	/* Also drops the definitions in memory. After an error the head is not complete. */
	db->head_is_incomplete = true;
	return r < 0 ? r : replay(db, now_wall_ns);
}

int segment_db_delete_tenant(struct segment_db *db, const char *tenant, uint64_t now_wall_ns)
{
	int r;

	(void)pthread_mutex_lock(&db->files_lock);
	r = flush_all(db, now_wall_ns);
	if (r == 0) {
		(void)pthread_mutex_lock(&db->inbox_lock);
		r = delete_definitions(db, tenant, now_wall_ns);
		(void)pthread_mutex_unlock(&db->inbox_lock);
	}
	if (r == 0)
		r = delete_in_days(db, tenant, NULL);
	(void)pthread_mutex_unlock(&db->files_lock);
	return r;
}

/* Deletes the first silent epoch. 1, or 0: there is none. */
static int drop_epoch(struct segment_db *db, uint64_t before_wall_ns)
{
	scoped(sqlite_resetp) sqlite3_stmt *row = NULL;
	struct batch batch = {};
	struct bytes_view agent;
	int64_t epoch;
	int r = sqlite_query(db->inbox, INBOX_SQL_EPOCH_SILENT, &row, SQL_INT(before_wall_ns));

	if (r <= 0)
		return r;
	epoch = sqlite3_column_int64(row, 0);
	agent = sqlite_blob(row, 2);
	if (agent.size != sizeof(batch.agent_id))
		return -EUCLEAN;
	memcpy(&batch.agent_id, agent.data, agent.size);
	batch.epoch = (uint64_t)sqlite3_column_int64(row, 3);
	/* Else batches would be accepted with definitions that only the memory has. */
	head_forget(db->head, sqlite_text(row, 1), &batch);
	sqlite_resetp(&row);
	r = sqlite_run(db->inbox, INBOX_SQL_CHUNK_DELETE, SQL_INT(epoch));
	if (r == 0)
		r = sqlite_run(db->inbox, INBOX_SQL_EPOCH_DELETE, SQL_INT(epoch));
	return r < 0 ? r : 1;
}

/* The caller holds inbox_lock. Returns the number of dropped epochs. */
static int drop_some_epochs(struct segment_db *db, uint64_t before_wall_ns)
{
	int n = 0;
	int r = sqlite_begin(db->inbox);

	if (r < 0)
		return r;
	do {
		r = drop_epoch(db, before_wall_ns);
		n += r > 0;
	} while (r > 0 && n < EPOCHS_PER_COMMIT);
	if (r >= 0)
		r = sqlite_commit(db->inbox);
	else
		sqlite_rollback(db->inbox);
	return r < 0 ? r : n;
}

int segment_db_drop_silent_epochs(struct segment_db *db, uint64_t before_wall_ns)
{
	int r;

	do {
		(void)pthread_mutex_lock(&db->inbox_lock);
		r = drop_some_epochs(db, before_wall_ns);
		(void)pthread_mutex_unlock(&db->inbox_lock);
	} while (r > 0);
	return r;
}
