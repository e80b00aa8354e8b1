/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/store/sqlite/make_room.h"

#include <sys/statvfs.h>

#include "common/folder_lock.h"
#include "common/log.h"
#include "symbolizer/store/data_folder/ballast.h"
#include "symbolizer/store/sqlite/day_files.h"
#include "symbolizer/store/data_folder/removed_days.h"
#include "symbolizer/store/data_folder/trusted_clock.h"

/* Free space that opening the databases needs: SQLite creates a WAL and its index for each. */
#define OPEN_BYTES (4 * MIB)

struct room {
	const char *folder;
	int folder_fd;
	struct day_file *files; /* ascending */
	size_t n_files;
};

/* Returns the number of files whose days are older than @age_ns. */
static size_t count_old(const struct room *room, const struct clock *clock, uint64_t age_ns)
{
	struct trusted_clock trusted = {};
	uint64_t now_ns;
	size_t count = 0;

	trusted_clock_load(&trusted, room->folder);
	/*
	 * Without a trusted time no file counts as old. The store applies this limit after opening.
	 */
	if (age_ns == 0 || trusted.wall_ns == 0)
		return 0;
	now_ns = trusted_clock_now(&trusted, clock);
	if (now_ns <= age_ns)
		return 0;
	while (count < room->n_files && room->files[count].day < day_of_wall_ns(now_ns - age_ns))
		count++;
	return count;
}

/* Returns the number of removed files. */
static size_t remove_files(struct room *room, size_t count, const char *reason)
{
	size_t removed = 0;

	while (removed < count) {
		int r = day_samples_remove(room->folder_fd, room->files[removed].day);

		if (r < 0) {
			(void)log_warn_errno(
				r, "cannot remove samples from '%s' that exceed the limit '%s': %m",
				room->folder, reason);
			break;
		}
		removed++;
	}
	if (removed > 0)
		log_info("removed the samples of %zu days from '%s', which exceed the limit '%s'",
			 removed, room->folder, reason);
	room->files += removed;
	room->n_files -= removed;
	return removed;
}

static bool is_full(int folder_fd)
{
	struct statvfs status;

	return fstatvfs(folder_fd, &status) == 0 &&
	       (uint64_t)status.f_bavail * status.f_frsize < OPEN_BYTES;
}

static void make_room(struct room *room, const struct clock *clock,
		      const struct retention_limits *limits)
{
	uint64_t bytes;
	size_t count;

	(void)remove_files(room, count_old(room, clock, limits->age_ns), "retention");
	bytes = store_files_bytes(room->folder_fd);
	count = day_files_beyond(room->files, room->n_files, bytes, limits->max_bytes);
	if (remove_files(room, count, "retention_size") > 0)
		removed_days_save(room->folder, room->files[0].day);
	if (is_full(room->folder_fd))
		ballast_release(&(struct ballast){ .folder_fd = room->folder_fd });
}

void sqlite_store_make_room(const char *folder, const struct clock *clock,
			    const struct retention_limits *limits)
{
	scoped_fd int fd = folder_lock(folder);
	scoped(arena_freep) struct arena *arena = NULL;
	struct room room = { .folder = folder, .folder_fd = fd };
	int r;

	if (fd < 0)
		return;
	r = arena_new(MIB, &arena);
	if (r == 0)
		r = day_samples_list(fd, arena, &room.files, &room.n_files);
	if (r == 0)
		make_room(&room, clock, limits);
	else
		(void)log_warn_errno(r, "cannot list the samples in '%s' to make room: %m", folder);
}
