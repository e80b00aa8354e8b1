/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The store operations and opening. One thread writes groups of batches. Readers (sqlite_view.c)
 * come from a pool; WAL mode keeps them from waiting for the writer. Their shared state in memory
 * (store_state.h) is rebuilt from the files when the store is opened.
 */

#include "symbolizer/store/sqlite/sqlite_store_private.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>

#include "common/file.h"
#include "common/folder_lock.h"
#include "common/log.h"
#include "symbolizer/store/data_folder/commit_lock.h"
#include "symbolizer/store/sqlite/day_files.h"
#include "symbolizer/store/sqlite/day_ids.h"
#include "symbolizer/store/sqlite/read.h"

/* Batches in one commit. At one batch per agent and 5 s, 256 in 40 ms are 32 000 agents. */
#define GROUP_MAX_BATCHES 256

/* Decoded batches in one commit: the changed pages of a group stay in memory until then. */
#define GROUP_MAX_BYTES (64 * MIB)

/*
 * A group costs two synchronous writes, of hearth.db and of a day file. At 200 batches/s the store
 * had 63 to 83 of them per second with 20 ms, and 49 with 30 ms.
 */
#define GROUP_SPACING_NS (30 * NSEC_PER_MSEC)

static bool is_disk_full(struct store_write *const *writes, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (writes[i]->result == -ENOSPC || writes[i]->result == -EDQUOT)
			return true;
	return false;
}

void sqlite_store_lock_writes(struct sqlite_store *self)
{
	(void)pthread_mutex_lock(&self->write_lock);
	(void)commit_lock_take(self->commit_lock);
}

void sqlite_store_unlock_writes(struct sqlite_store *self)
{
	commit_lock_give(self->commit_lock);
	(void)pthread_mutex_unlock(&self->write_lock);
}

static size_t write_group(void *arg, struct store_write *const *writes, size_t count)
{
	struct sqlite_store *self = arg;
	size_t n_written;
	int r;

	sqlite_store_lock_writes(self);
	r = ballast_hold(&self->ballast);
	n_written = r < 0 ? sqlite_writer_refuse(self->writer, writes, count, r)
			  : sqlite_writer_write_group(self->writer, writes, count);
	if (r == 0 && is_disk_full(writes, n_written)) {
		ballast_release(&self->ballast);
		sqlite_writer_checkpoint(self->writer);
	}
	sqlite_store_unlock_writes(self);
	return n_written;
}

static int operation_write(struct store *store, const char *tenant, const struct batch *batch,
			   struct arena *arena, struct store_missing *ret_missing)
{
	return write_queue_run(sqlite_store_of(store)->queue, tenant, batch, arena, ret_missing);
}

static int operation_agent_executables(struct store *store, const char *tenant,
				       const struct hash128 *agent, uint64_t epoch, size_t max,
				       struct arena *arena,
				       struct store_executable **ret_executables, size_t *ret_count)
{
	scoped(reader_returnp) struct reader reader =
		reader_borrow(sqlite_store_of(store)->readers, READER_LOOKUP);

	return read_agent_executables(reader.set, tenant, agent, epoch, max, arena, ret_executables,
				      ret_count);
}

static void operation_set_retention(struct store *store, uint64_t retention_ns)
{
	sqlite_store_of(store)->writer->retention_ns = retention_ns;
}

static void operation_set_max_bytes(struct store *store, uint64_t max_bytes)
{
	sqlite_store_of(store)->max_bytes = max_bytes;
}

static int operation_check(struct store *store)
{
	return ballast_check(&sqlite_store_of(store)->ballast);
}

static int operation_stats(struct store *store, struct store_stats *ret_stats)
{
	struct sqlite_store *self = sqlite_store_of(store);
	struct store_counts counts = store_state_counts(self->state);

	*ret_stats = (struct store_stats){
		.n_batches = counts.n_batches,
		.n_rows = counts.n_rows,
		.n_series = counts.n_series,
		.n_too_old_batches = self->writer->n_too_old,
		.n_days_removed_by_age = self->n_removed_by_age,
		.n_days_removed_by_size = self->n_removed_by_size,
		.n_stacks = self->writer->n_stacks,
		.n_processes = self->writer->n_processes,
		.disk_bytes = store_files_bytes(self->folder_fd),
	};
	return 0;
}

static struct store *operation_free(struct store *store)
{
	struct sqlite_store *self = sqlite_store_of(store);

	(void)write_queue_free(self->queue);
	(void)reader_pool_free(self->readers);
	(void)sqlite_writer_free(self->writer);
	(void)node_cache_free(self->nodes);
	(void)store_state_free(self->state);
	(void)pthread_mutex_destroy(&self->write_lock);
	scoped_close(&self->commit_lock);
	scoped_close(&self->folder_fd);
	free(self->folder);
	free(self);
	return NULL;
}

static const struct store_operations sqlite_operations = {
	.write = operation_write,
	.open_view = sqlite_view_open,
	.agent_executables = operation_agent_executables,
	.set_retention = operation_set_retention,
	.set_max_bytes = operation_set_max_bytes,
	.retain = sqlite_store_retain,
	.check = operation_check,
	.stats = operation_stats,
	.free = operation_free,
};

static int lock_folder(struct sqlite_store *self)
{
	self->folder_fd = folder_lock(self->folder);
	if (self->folder_fd < 0)
		return self->folder_fd;
	self->ballast.folder_fd = self->folder_fd;
	self->commit_lock = commit_lock_open(self->folder);
	return MIN(self->commit_lock, 0);
}

static int refuse_newer_day(struct sqlite_store *self, struct sqlite_db *db,
			    const struct hearth_ids *ids)
{
	int r = day_is_newer(db, ids, &self->writer->connections.scratch);

	if (r <= 0)
		return r;
	return log_error_errno(
		ESTALE,
		"'%s' has samples with definitions that '%s/hearth.db' lacks, which is older: "
		"restore all files of a backup together, or move newer files of samples away: %m",
		sqlite3_db_filename(db->handle, "main"), self->folder);
}

/*
 * A damaged file is set aside, and only its day is lost. A file of another hearth.db is an error,
 * since its IDs would give wrong names. Other errors may be temporary (no file descriptors, no
 * space for the WAL's index): the day is listed, and queries of it fail until the error is gone.
 */
static int add_day(struct sqlite_store *self, day_number day, const struct hearth_ids *ids)
{
	struct connection_set *connections = &self->writer->connections;
	char name[DAY_FILE_NAME_SIZE];
	struct day_total total = {};
	struct sqlite_db *db;
	int r;

	r = connection_set_day(connections, day, &db);
	if (r == 0)
		r = day_db_total(db, &total);
	if (r == 0)
		r = refuse_newer_day(self, db, ids);
	if (r == -EUCLEAN)
		return write_set_day_aside(self->writer, day);
	if (r == -ESTALE || r == -ENOMEM || r == -ENOTSUP)
		return r;
	if (r < 0) {
		total = (struct day_total){};
		day_file_name(day, name);
		(void)log_warn_errno(r, "cannot open '%s/%s', its samples are not counted yet: %m",
				     self->folder, name);
	}
	return store_state_set_day(self->state, day, &total);
}

static int find_day_files(struct sqlite_store *self, const struct hearth_ids *ids)
{
	DIR *folder = opendir(self->folder);
	VEC_DEFINE(, day_number) days = {};
	const struct dirent *entry;
	day_number day;
	int r = 0;

	if (!folder)
		return -errno;
	while (r == 0 && (entry = readdir(folder)))
		if (day_file_parse(entry->d_name, &day))
			r = vec_push(&days, day);
	(void)closedir(folder);
	/* After the folder was read, because opening creates and renames files in it. */
	for (size_t i = 0; i < days.count && r == 0; i++)
		r = add_day(self, days.items[i], ids);
	vec_release(&days);
	connection_set_close_days(&self->writer->connections);
	return r;
}

static int load_series_hosts(struct sqlite_store *self, struct sqlite_db *hearth)
{
	scoped(sqlite_resetp) sqlite3_stmt *row = NULL;
	int r;

	r = sqlite_query(hearth, SQL_SERIES_HOSTS, &row, SQL_INT(0));
	while (r > 0) {
		r = store_state_set_series_host(self->state, (uint32_t)sqlite3_column_int64(row, 0),
						(uint32_t)sqlite3_column_int64(row, 1));
		if (r == 0)
			r = sqlite_step(hearth, row);
	}
	return r;
}

/* Rows are never removed from these tables, so the largest ID is their number. */
static int load_count(struct sqlite_db *hearth, enum hearth_statement statement,
		      _Atomic uint64_t *ret_count)
{
	scoped(sqlite_resetp) sqlite3_stmt *row = NULL;
	int r;

	r = sqlite_query(hearth, statement, &row);
	if (r > 0)
		*ret_count = (uint64_t)sqlite3_column_int64(row, 0);
	return MIN(r, 0);
}

static int load_state(struct sqlite_store *self)
{
	struct hearth_ids ids;
	struct sqlite_db *hearth;
	int r;

	r = connection_set_hearth(&self->writer->connections, &hearth);
	if (r < 0)
		return r;
	r = hearth_db_identity(hearth, &self->identity);
	if (r < 0)
		return r;
	r = hearth_ids_load(hearth, &ids);
	if (r == 0)
		r = find_day_files(self, &ids);
	if (r < 0)
		return r;
	retention_begin(self);
	r = load_series_hosts(self, hearth);
	if (r < 0)
		return r;
	r = load_count(hearth, SQL_STACK_MAX, &self->writer->n_stacks);
	if (r < 0)
		return r;
	return load_count(hearth, SQL_PROCESS_MAX, &self->writer->n_processes);
}

static int start_queue(struct sqlite_store *self)
{
	const struct write_queue_options options = {
		.max_writes = GROUP_MAX_BATCHES,
		.max_bytes = GROUP_MAX_BYTES,
		.spacing_ns = GROUP_SPACING_NS,
		.write_group = write_group,
		.arg = self,
	};

	return write_queue_new(&options, &self->queue);
}

int sqlite_store_open(const char *folder, const struct clock *clock, struct store **ret_store)
{
	struct sqlite_store *self = calloc(1, sizeof(*self));
	scoped(store_freep) struct store *store = self ? &self->store : NULL;
	int r;

	if (!self)
		return -ENOMEM;
	self->store.operations = &sqlite_operations;
	self->folder_fd = -1;
	self->commit_lock = -1;
	(void)pthread_mutex_init(&self->write_lock, NULL);
	self->folder = strdup(folder);
	if (!self->folder)
		return -ENOMEM;
	r = make_folders(folder, 0750);
	if (r == 0)
		r = lock_folder(self);
	if (r == 0)
		r = store_state_new(&self->state);
	if (r == 0)
		r = node_cache_new(&self->nodes);
	if (r == 0)
		r = reader_pool_new(self->folder, &self->identity, self->state, &self->readers);
	if (r == 0)
		r = sqlite_writer_new(self->folder, &self->identity, self->state, clock,
				      &self->writer);
	if (r == 0)
		r = load_state(self);
	if (r == 0)
		r = start_queue(self);
	if (r < 0)
		return r;
	ballast_hold_first(&self->ballast, self->folder);
	*ret_store = take_ptr(store);
	return 0;
}
