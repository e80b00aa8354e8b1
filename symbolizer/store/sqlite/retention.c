/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Retention: removes the files of days that are too old, and the oldest days while the files are
 * larger than the limit.
 */

#include "symbolizer/store/sqlite/sqlite_store_private.h"

#include <fcntl.h>
#include <inttypes.h>

#include "common/log.h"
#include "symbolizer/store/sqlite/day_files.h"
#include "symbolizer/store/data_folder/folder_log.h"
#include "symbolizer/store/data_folder/removed_days.h"

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
	r = day_samples_remove(self->folder_fd, entry->day);
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

	sqlite_store_lock_writes(self);
	r = prune_before(self, before_wall_ns, ret_removed);
	sqlite_store_unlock_writes(self);
	return r;
}

static void log_too_large(struct sqlite_store *self, uint64_t bytes)
{
	if (!self->is_too_large)
		log_warn("'%s' has %" PRIu64 " bytes of samples and definitions, more than "
			 "retention_size, although only the newest day is left: raise the limit",
			 self->folder, bytes);
	self->is_too_large = true;
}

/* Removes one day after the other, so that after an error the rest is counted right. */
static int prune_to_size(struct sqlite_store *self, size_t *ret_removed)
{
	uint64_t max_bytes = self->max_bytes;
	uint64_t bytes = max_bytes ? store_files_bytes(self->folder_fd) : 0;
	scoped(arena_freep) struct arena *arena = NULL;
	struct day_file *files;
	size_t n_files, count;
	int r;

	if (bytes <= max_bytes) {
		self->is_too_large = false;
		return 0;
	}
	r = arena_new(MIB, &arena);
	if (r == 0)
		r = day_samples_list(self->folder_fd, arena, &files, &n_files);
	if (r < 0)
		return r;
	count = day_files_beyond(files, n_files, bytes, max_bytes);
	if (count == 0) {
		log_too_large(self, bytes);
		return 0;
	}
	/* Before the files are removed: no batch may create one of them again. */
	self->writer->first_day = files[count].day;
	removed_days_save(self->folder, files[count].day);
	return prune_before(self, files[count].day * SLOTS_PER_DAY * SLOT_NS, ret_removed);
}

static int prune_by_age(struct sqlite_store *self, size_t *ret_removed)
{
	struct sqlite_writer *writer = self->writer;
	uint64_t retention_ns = writer->retention_ns;
	uint64_t now_ns = trusted_clock_now(&writer->trusted, writer->clock);

	if (retention_ns == 0 || now_ns <= retention_ns)
		return 0;
	self->first_day_by_age = day_of_wall_ns(now_ns - retention_ns);
	return prune_before(self, now_ns - retention_ns, ret_removed);
}

int sqlite_store_retain(struct store *store, size_t *ret_removed)
{
	struct sqlite_store *self = sqlite_store_of(store);
	size_t by_age = 0;
	size_t by_size = 0;
	int r;

	sqlite_store_lock_writes(self);
	trusted_clock_check(&self->writer->trusted, self->writer->clock, self->folder);
	r = prune_by_age(self, &by_age);
	if (r == 0)
		r = prune_to_size(self, &by_size);
	sqlite_store_unlock_writes(self);
	self->n_removed_by_age += by_age;
	self->n_removed_by_size += by_size;
	folder_log_removed(by_age, by_size);
	*ret_removed = by_age + by_size;
	return r;
}

int retention_removed_until(struct sqlite_store *self, uint64_t *ret_slot,
			    enum store_removal *ret_reason)
{
	day_number by_age = self->first_day_by_age;
	day_number by_size = self->writer->first_day;

	if (by_age == 0 && by_size == 0)
		return 0;
	*ret_slot = MAX(by_age, by_size) * SLOTS_PER_DAY;
	*ret_reason = by_size > by_age ? STORE_REMOVED_BY_SIZE : STORE_REMOVED_BY_AGE;
	return 1;
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

	writer->first_day = removed_days_load(self->folder);
	trusted_clock_load(&writer->trusted, self->folder);
	if (writer->trusted.wall_ns == 0)
		trust_newest_day(self);
	trusted_clock_check(&writer->trusted, writer->clock, self->folder);
}
