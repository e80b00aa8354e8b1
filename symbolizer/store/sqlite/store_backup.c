/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/store/sqlite/store_backup.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/arena.h"
#include "common/limits.h"
#include "common/scoped.h"
#include "symbolizer/sqlite/snapshot_set.h"
#include "symbolizer/store/data_folder/commit_lock.h"
#include "symbolizer/store/sqlite/day_files.h"

struct store_snapshots {
	struct snapshot_set set;
};

struct store_snapshots *store_snapshots_free(struct store_snapshots *snapshots)
{
	if (!snapshots)
		return NULL;
	snapshot_set_release(&snapshots->set);
	free(snapshots);
	return NULL;
}

/* The caller holds the commit lock. */
static int add_files(struct store_snapshots *snapshots, const char *folder)
{
	scoped_fd int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	scoped(arena_freep) struct arena *arena = NULL;
	struct day_file *days;
	size_t n_days;
	int r;

	if (fd < 0)
		return -errno;
	r = arena_new(MIB, &arena);
	if (r == 0)
		r = day_samples_list(fd, arena, &days, &n_days);
	if (r == 0)
		r = snapshot_set_add(&snapshots->set, folder, "hearth.db");
	for (size_t i = 0; r == 0 && i < n_days; i++) {
		char name[DAY_FILE_NAME_SIZE];

		day_file_name(days[i].day, name);
		r = snapshot_set_add(&snapshots->set, folder, name);
	}
	return r;
}

bool store_snapshots_has_store(const char *folder)
{
	scoped_free char *path = NULL;

	return asprintf(&path, "%s/hearth.db", folder) >= 0 && access(path, F_OK) == 0;
}

int store_snapshots_open(const char *folder, struct store_snapshots **ret_snapshots)
{
	scoped(store_snapshots_freep) struct store_snapshots *snapshots =
		calloc(1, sizeof(*snapshots));
	scoped_fd int lock = commit_lock_open(folder);
	int r;

	if (!snapshots)
		return -ENOMEM;
	if (lock < 0)
		return lock;
	r = commit_lock_take(lock);
	if (r < 0)
		return r;
	r = add_files(snapshots, folder);
	commit_lock_give(lock);
	if (r < 0)
		return r;
	*ret_snapshots = take_ptr(snapshots);
	return 0;
}

int store_snapshots_copy(const struct store_snapshots *snapshots, const char *target)
{
	return snapshot_set_copy(&snapshots->set, target);
}
