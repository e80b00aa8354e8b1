/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Retention: removes the files of days that are too old.
 */

#include "symbolizer/store/sqlite/sqlite_store_private.h"

#include <fcntl.h>
#include <stdio.h>

/* Also removes the WAL and its index, which a new file of this name must not find. */
static int remove_day_file(const struct sqlite_store *self, day_number day)
{
	static const char *const suffixes[] = { "", "-wal", "-shm" };
	char name[DAY_FILE_NAME_SIZE];
	int r = 0;

	day_file_name(day, name);
	for (size_t i = 0; i < ARRAY_SIZE(suffixes) && r == 0; i++) {
		char path[DAY_FILE_NAME_SIZE + 8];

		(void)snprintf(path, sizeof(path), "%s%s", name, suffixes[i]);
		if (unlinkat(self->folder_fd, path, 0) < 0 && errno != ENOENT)
			r = -errno;
	}
	return r;
}

/*
 * Takes the day out of the list before its file is removed, so that no reader opens it. If the
 * file cannot be removed, the day returns to the list for the next retention run.
 */
static int prune_day(struct sqlite_store *self, const struct day_entry *entry)
{
	char name[DAY_FILE_NAME_SIZE];
	int r;

	store_state_take_day(self->state, entry->day);
	connection_set_close_days(&self->writer->connections);
	reader_pool_close_stale(self->readers);
	r = remove_day_file(self, entry->day);
	day_file_name(entry->day, name);
	if (r < 0 && faccessat(self->folder_fd, name, F_OK, 0) == 0)
		(void)store_state_set_day(self->state, entry->day, &entry->total);
	return r;
}

/* The caller holds the writer's lock. */
static int prune_before(struct sqlite_store *self, uint64_t before_wall_ns, size_t *ret_removed)
{
	day_number end = day_of_wall_ns(before_wall_ns);
	scoped(arena_freep) struct arena *arena = NULL;
	struct day_entry *days = NULL;
	size_t n_days = 0;
	size_t removed = 0;
	int r;

	r = arena_new(MIB, &arena);
	if (r == 0 && end > 0)
		r = store_state_days(self->state, 0, end - 1, arena, &days, &n_days);
	for (size_t i = 0; i < n_days; i++) {
		int error = prune_day(self, &days[i]);

		removed += error == 0;
		r = r < 0 ? r : error;
	}
	if (r < 0)
		return r;
	*ret_removed = removed;
	return 0;
}

int sqlite_store_prune(struct store *store, uint64_t before_wall_ns, size_t *ret_removed)
{
	struct sqlite_store *self = sqlite_store_of(store);
	int r;

	(void)pthread_mutex_lock(&self->write_lock);
	r = prune_before(self, before_wall_ns, ret_removed);
	(void)pthread_mutex_unlock(&self->write_lock);
	return r;
}

int sqlite_store_retain(struct store *store, size_t *ret_removed)
{
	struct sqlite_store *self = sqlite_store_of(store);
	struct sqlite_writer *writer = self->writer;
	uint64_t retention_ns = writer->retention_ns;
	uint64_t now_ns;
	int r = 0;

	*ret_removed = 0;
	(void)pthread_mutex_lock(&self->write_lock);
	trusted_clock_check(&writer->trusted, writer->clock, self->folder);
	now_ns = trusted_clock_now(&writer->trusted, writer->clock);
	if (retention_ns != 0 && now_ns > retention_ns)
		r = prune_before(self, now_ns - retention_ns, ret_removed);
	(void)pthread_mutex_unlock(&self->write_lock);
	return r;
}

/*
 * Earlier versions did not save a trusted time. Then the end of the newest stored day is the last
 * time that is known.
 */
static void trust_newest_day(struct sqlite_store *self)
{
	struct trusted_clock *trusted = &self->writer->trusted;
	scoped(arena_freep) struct arena *arena = NULL;
	struct day_entry *days;
	size_t n_days;

	if (arena_new(MIB, &arena) == 0 &&
	    store_state_days(self->state, 0, UINT32_MAX, arena, &days, &n_days) == 0 && n_days > 0)
		trusted->wall_ns = MIN((days[n_days - 1].day + 1) * SLOTS_PER_DAY * SLOT_NS - 1,
				       clock_wall_ns(self->writer->clock));
}

void retention_begin(struct sqlite_store *self)
{
	struct sqlite_writer *writer = self->writer;

	trusted_clock_load(&writer->trusted, self->folder);
	if (writer->trusted.wall_ns == 0)
		trust_newest_day(self);
	trusted_clock_check(&writer->trusted, writer->clock, self->folder);
}
