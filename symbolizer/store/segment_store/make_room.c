/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Retention before the databases are opened, because opening creates files: a server whose disk is
 * full starts with a lower limit.
 */

#include <sys/statvfs.h>

#include "common/log.h"
#include "symbolizer/store/data_folder/removed_days.h"
#include "symbolizer/store/segment_db/day_file.h"
#include "symbolizer/store/segment_store/segment_store_private.h"

/* What opening the databases needs: the index of a WAL of each, and some pages. */
#define OPEN_BYTES MIB

static size_t count_old(const struct segment_store *self, const struct segment_days *days)
{
	const uint64_t now_ns = trusted_clock_now(&self->trusted, self->clock);
	const uint64_t age_ns = segment_store_day_retention_ns(self);
	size_t count = 0;

	/* Without a trusted time, retention finds one later. */
	if (age_ns == 0 || self->trusted.wall_ns == 0 || now_ns <= age_ns)
		return 0;
	while (count < days->count &&
	       days->items[count] < segment_day_of_slot((now_ns - age_ns) / SLOT_NS))
		count++;
	return count;
}

/* The days after the first @count, of which the newest is kept. */
static size_t count_beyond_size(const struct segment_store *self, const struct segment_days *days,
				size_t count)
{
	const uint64_t max_day_bytes =
		segment_db_max_day_bytes(self->max_bytes, segment_db_inbox_bytes(self->folder));
	uint64_t bytes = 0;

	for (size_t i = count; i < days->count; i++)
		bytes += day_file_bytes(self->folder, days->items[i]);
	for (; self->max_bytes && bytes > max_day_bytes && count + 1 < days->count; count++) {
		const uint64_t freed = day_file_bytes(self->folder, days->items[count]);

		bytes -= MIN(bytes, freed);
	}
	return count;
}

/* Removes the days @from to @to - 1 of @days. */
static void remove_days(const struct segment_store *self, const struct segment_days *days,
			size_t from, size_t to, const char *limit)
{
	for (size_t i = from; i < to; i++) {
		int r = day_file_remove(self->folder, days->items[i]);

		if (r < 0)
			(void)log_warn_errno(r, "cannot remove samples beyond %s from '%s': %m",
					     limit, self->folder);
	}
	if (to > from)
		log_info("removed the samples of %zu days from '%s', which are beyond %s",
			 to - from, self->folder, limit);
}

static bool is_full(int folder_fd)
{
	struct statvfs status;

	return fstatvfs(folder_fd, &status) == 0 &&
	       (uint64_t)status.f_bavail * status.f_frsize < OPEN_BYTES;
}

void segment_store_make_room(struct segment_store *self)
{
	scoped(segment_days_release) struct segment_days days = {};
	size_t n_old, n_beyond;

	if (day_files_list(self->folder, &days) < 0)
		return;
	n_old = count_old(self, &days);
	n_beyond = count_beyond_size(self, &days, n_old);
	remove_days(self, &days, 0, n_old, "retention");
	remove_days(self, &days, n_old, n_beyond, "retention_size");
	if (n_beyond > n_old)
		removed_days_save(self->folder, days.items[n_beyond]);
	if (is_full(self->folder_fd))
		ballast_release(&self->ballast);
}
