/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/store/sqlite/store_backup.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/arena.h"
#include "common/limits.h"
#include "common/vec.h"
#include "symbolizer/sqlite/sqlite_copy.h"
#include "symbolizer/store/sqlite/commit_lock.h"
#include "symbolizer/store/sqlite/day_files.h"

struct named_snapshot {
	char name[DAY_FILE_NAME_SIZE];
	struct sqlite_db *db;
};

struct store_snapshots {
	VEC_DEFINE(, struct named_snapshot) files;
};

struct store_snapshots *store_snapshots_free(struct store_snapshots *snapshots)
{
	if (!snapshots)
		return NULL;
	for (size_t i = 0; i < snapshots->files.count; i++)
		(void)sqlite_db_free(snapshots->files.items[i].db);
	vec_release(&snapshots->files);
	free(snapshots);
	return NULL;
}

static int add_file(struct store_snapshots *snapshots, const char *folder, const char *name)
{
	struct named_snapshot file = {};
	scoped_free char *path = NULL;
	int r;

	if (asprintf(&path, "%s/%s", folder, name) < 0)
		return -ENOMEM;
	r = vec_reserve(&snapshots->files, 1);
	if (r == 0)
		r = sqlite_snapshot_open(path, &file.db);
	if (r < 0)
		return r;
	(void)snprintf(file.name, sizeof(file.name), "%s", name);
	snapshots->files.items[snapshots->files.count++] = file;
	return 0;
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
		r = day_files_list(fd, arena, &days, &n_days);
	if (r == 0)
		r = add_file(snapshots, folder, "hearth.db");
	for (size_t i = 0; r == 0 && i < n_days; i++) {
		char name[DAY_FILE_NAME_SIZE];

		day_file_name(days[i].day, name);
		r = add_file(snapshots, folder, name);
	}
	return r;
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
	int r = 0;

	for (size_t i = 0; r == 0 && i < snapshots->files.count; i++) {
		const struct named_snapshot *file = &snapshots->files.items[i];
		scoped_free char *path = NULL;

		if (asprintf(&path, "%s/%s", target, file->name) < 0)
			return -ENOMEM;
		r = sqlite_snapshot_copy(file->db, path);
	}
	return r;
}
