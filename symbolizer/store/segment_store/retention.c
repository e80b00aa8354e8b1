/* SPDX-License-Identifier: Apache-2.0 */
/* Removes days that are too old, and the oldest days while the files exceed the limit. */

#include <inttypes.h>

#include "common/log.h"
#include "symbolizer/store/data_folder/folder_log.h"
#include "symbolizer/store/data_folder/removed_days.h"
#include "symbolizer/store/segment_db/day_file.h"
#include "symbolizer/store/segment_store/segment_store_private.h"

#define DAY_NS (24 * 3600 * NSEC_PER_SEC)

/*
 * Without a saved time, the end of the newest stored day is the last time that is known. Rows in
 * the inbox may be later; then a clock that is right is trusted a day later.
 */
static void trust_newest_day(struct segment_store *self)
{
	scoped(segment_days_release) struct segment_days days = {};

	if (day_files_list(self->folder, &days) < 0 || days.count == 0)
		return;
	self->trusted.wall_ns =
		MIN((days.items[days.count - 1] + 1) * DAY_NS - 1, clock_wall_ns(self->clock));
}

int segment_store_retention_begin(struct segment_store *self)
{
	const uint32_t first_day = removed_days_load(self->folder);
	size_t removed;

	if (self->trusted.wall_ns == 0)
		trust_newest_day(self);
	trusted_clock_check(&self->trusted, self->clock, self->folder);
	self->first_day_by_size = first_day;
	return first_day ? segment_db_prune(self->db, first_day * DAY_NS, &removed) : 0;
}

/* 0: all days are within the retention. */
static uint32_t first_day_at(const struct segment_store *self, uint64_t now_ns)
{
	const uint64_t retention_ns = segment_store_day_retention_ns(self);

	if (retention_ns == 0 || now_ns <= retention_ns)
		return 0;
	return (uint32_t)((now_ns - retention_ns) / DAY_NS);
}

uint32_t segment_store_first_day(const struct segment_store *self)
{
	return first_day_at(self, trusted_clock_now(&self->trusted, self->clock));
}

/* The present time that retention trusts. */
static uint64_t check_clock(struct segment_store *self)
{
	uint64_t now_ns;

	(void)pthread_mutex_lock(&self->lock);
	trusted_clock_check(&self->trusted, self->clock, self->folder);
	now_ns = trusted_clock_now(&self->trusted, self->clock);
	(void)pthread_mutex_unlock(&self->lock);
	return now_ns;
}

static int prune_by_age(struct segment_store *self, uint64_t now_ns, size_t *ret_removed)
{
	const uint32_t first_day = first_day_at(self, now_ns);
	int r;

	if (first_day == 0)
		return 0;
	r = segment_db_prune(self->db, first_day * DAY_NS, ret_removed);
	if (r == 0)
		self->first_day_by_age = first_day;
	return r;
}

/* Removes the samples of days of which the sums are kept. */
static int remove_samples(struct segment_store *self, uint64_t now_ns)
{
	const uint64_t retention_ns = self->retention_ns;
	size_t n_removed, n_left;
	uint64_t first_day;
	int r;

	if (retention_ns == 0 || self->hourly_retention_ns <= retention_ns ||
	    now_ns <= retention_ns)
		return 0;
	first_day = (now_ns - retention_ns) / DAY_NS;
	if (first_day == self->samples_removed_until)
		return 0;
	r = segment_db_remove_samples(self->db, first_day * DAY_NS, &n_removed, &n_left);
	if (r < 0)
		return r;
	if (n_removed > 0)
		log_info("removed the samples of %zu hours of services, which are beyond "
			 "retention; their sums are kept",
			 n_removed);
	if (n_left == 0)
		self->samples_removed_until = first_day;
	return 0;
}

static void log_too_large(struct segment_store *self, uint64_t bytes)
{
	if (!self->is_too_large)
		log_warn("'%s' has %" PRIu64 " bytes of samples and batches, more than "
			 "retention_size, although no further day can be removed: raise the limit",
			 self->folder, bytes);
	self->is_too_large = true;
}

static int prune_to_size(struct segment_store *self, size_t *ret_removed)
{
	const uint64_t max_bytes = self->max_bytes;
	uint32_t first_day;
	uint64_t bytes;
	int r;

	if (max_bytes == 0)
		return 0;
	r = segment_db_prune_to_bytes(self->db, max_bytes, ret_removed);
	if (r == 0 && *ret_removed > 0) {
		first_day = segment_db_first_day(self->db);
		self->first_day_by_size = first_day;
		removed_days_save(self->folder, first_day);
	}
	if (r == 0)
		r = segment_db_disk_bytes(self->db, &bytes);
	if (r < 0)
		return r;
	if (bytes > max_bytes)
		log_too_large(self, bytes);
	else
		self->is_too_large = false;
	return 0;
}

int segment_store_retain(struct store *store, size_t *ret_removed)
{
	struct segment_store *self = segment_store_of(store);
	const uint64_t now_ns = check_clock(self);
	size_t by_age = 0, by_size = 0;
	int r;

	r = prune_by_age(self, now_ns, &by_age);
	if (r == 0)
		r = remove_samples(self, now_ns);
	if (r == 0)
		r = prune_to_size(self, &by_size);
	self->n_removed_by_age += by_age;
	self->n_removed_by_size += by_size;
	folder_log_removed(by_age, by_size);
	*ret_removed = by_age + by_size;
	return r;
}

int segment_store_removed_until(struct segment_store *self, uint64_t *ret_slot,
				enum store_removal *ret_reason)
{
	const uint64_t by_age = self->first_day_by_age, by_size = self->first_day_by_size;

	if (by_age == 0 && by_size == 0)
		return 0;
	*ret_slot = MAX(by_age, by_size) * SEGMENT_SLOTS_PER_DAY;
	*ret_reason = by_size > by_age ? STORE_REMOVED_BY_SIZE : STORE_REMOVED_BY_AGE;
	return 1;
}
