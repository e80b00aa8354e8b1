/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Retention, and deletion of a tenant.
 *
 * A day is first made unavailable: from then on no flush, compaction or query opens its file. Then
 * the file is removed without a lock, because that takes long for a large file. Rows of a batch in
 * the inbox may be of a removed day; the flush drops them, so that the day does not return.
 */

#include <stdio.h>
#include <sys/stat.h>

#include "symbolizer/store/segment_db/log_file.h"
#include "symbolizer/store/segment_db/segment_db_private.h"

segment_day segment_db_first_day(struct segment_db *db)
{
	segment_day day;

	fair_lock_take(&db->inbox_lock);
	day = db->oldest_day;
	fair_lock_give(&db->inbox_lock);
	return day;
}

/* Waits for a flush or compaction that may have the file open. */
static void set_oldest_day(struct segment_db *db, segment_day day)
{
	fair_lock_take(&db->files_lock);
	fair_lock_take(&db->inbox_lock);
	db->oldest_day = MAX(db->oldest_day, day);
	fair_lock_give(&db->inbox_lock);
	fair_lock_give(&db->files_lock);
}

static int prune_hosts(struct segment_db *db)
{
	int r;

	fair_lock_take(&db->inbox_lock);
	r = host_table_prune(db->hosts, db->inbox,
			     db->oldest_day * SEGMENT_SLOTS_PER_DAY * SLOT_NS);
	fair_lock_give(&db->inbox_lock);
	return r;
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
	return prune_hosts(db);
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

uint64_t segment_db_inbox_bytes(const char *folder)
{
	static const char *const names[] = { "inbox.db", "inbox.db-wal" };
	uint64_t bytes = 0;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		scoped_free char *path = NULL;
		struct stat status;

		if (asprintf(&path, "%s/%s", folder, names[i]) >= 0 && stat(path, &status) == 0)
			bytes += (uint64_t)status.st_blocks * 512;
	}
	return bytes;
}

int segment_db_disk_bytes(struct segment_db *db, uint64_t *ret_bytes)
{
	scoped(segment_days_release) struct segment_days days = {};
	uint64_t bytes = segment_db_inbox_bytes(db->folder);
	int r = day_files_list(db->folder, &days);

	if (r < 0)
		return r;
	for (size_t i = 0; i < days.count; i++)
		bytes += day_file_bytes(db->folder, days.items[i]);
	*ret_bytes = bytes;
	return 0;
}

uint64_t segment_db_max_day_bytes(uint64_t max_bytes, uint64_t inbox_bytes)
{
	return max_bytes - MIN(inbox_bytes, max_bytes / 2);
}

int segment_db_prune_to_bytes(struct segment_db *db, uint64_t max_bytes, size_t *ret_removed)
{
	const uint64_t max_day_bytes =
		segment_db_max_day_bytes(max_bytes, segment_db_inbox_bytes(db->folder));
	scoped(segment_days_release) struct segment_days days = {};
	uint64_t bytes = 0;
	size_t count = 0;
	int r = day_files_list(db->folder, &days);

	if (r < 0)
		return r;
	for (size_t i = 0; i < days.count; i++)
		bytes += day_file_bytes(db->folder, days.items[i]);
	while (bytes > max_day_bytes && count + 1 < days.count) {
		uint64_t freed = day_file_bytes(db->folder, days.items[count++]);

		bytes -= MIN(bytes, freed);
	}
	return remove_days(db, &days, count, ret_removed);
}

/* Deletes the segments and the batches of the tenant. */
static int delete_in_file(struct sqlite_db *file, const char *tenant)
{
	int r = sqlite_begin(file);

	if (r == 0)
		r = sqlite_run(file, DAY_SQL_DELETE_TENANT_CONTENT, SQL_TEXT(tenant));
	if (r == 0)
		r = sqlite_run(file, DAY_SQL_DELETE_TENANT, SQL_TEXT(tenant));
	if (r == 0)
		r = log_file_delete_tenant(file, tenant);
	if (r == 0)
		r = sqlite_run(file, DAY_SQL_LABEL_NAME_DELETE_TENANT, SQL_TEXT(tenant));
	if (r == 0)
		r = sqlite_run(file, DAY_SQL_EXECUTABLE_DELETE_TENANT, SQL_TEXT(tenant));
	if (r == 0)
		return sqlite_commit(file);
	sqlite_rollback(file);
	return r;
}

/* The caller holds files_lock. */
static int delete_in_days(struct segment_db *db, const char *tenant)
{
	scoped(segment_days_release) struct segment_days days = {};
	int r = day_files_list(db->folder, &days);

	for (size_t i = 0; i < days.count && r >= 0; i++) {
		scoped(sqlite_db_freep) struct sqlite_db *file = NULL;

		if (days.items[i] < db->oldest_day)
			continue;
		r = day_file_open(db->folder, days.items[i], DAY_FILE_WRITE, &file);
		if (r > 0)
			r = delete_in_file(file, tenant);
	}
	return MIN(r, 0);
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
	if (r == 0)
		r = host_table_delete_tenant(db->hosts, db->inbox, tenant);
	/* Also drops the definitions in memory. After an error the head is not complete. */
	db->head_is_incomplete = true;
	return r < 0 ? r : replay(db, now_wall_ns);
}

int segment_db_delete_tenant(struct segment_db *db, const char *tenant, uint64_t now_wall_ns)
{
	int r;

	fair_lock_take(&db->files_lock);
	r = flush_all(db, now_wall_ns);
	if (r == 0) {
		fair_lock_take(&db->inbox_lock);
		r = delete_definitions(db, tenant, now_wall_ns);
		fair_lock_give(&db->inbox_lock);
	}
	if (r == 0)
		r = delete_in_days(db, tenant);
	fair_lock_give(&db->files_lock);
	if (r >= 0)
		r = vacuum_days(db);
	return r < 0 ? r : vacuum_inbox(db);
}
