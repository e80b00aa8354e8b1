/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/sqlite/sqlite_copy.h"

#include <fcntl.h>
#include <unistd.h>

/* Pages per step: 16 MiB. */
#define STEP_PAGES 4096

int sqlite_snapshot_open(const char *path, struct sqlite_db **ret_db)
{
	scoped(sqlite_db_freep) struct sqlite_db *db = NULL;
	int r;

	if (access(path, F_OK) < 0)
		return -errno;
	/* Read-write, because the first connection after a crash recovers the WAL. */
	r = sqlite_db_open(path, SQLITE_OPEN_READWRITE, NULL, 0, &db);
	if (r < 0)
		return r;
	/* Closing must not copy the WAL into a file that only shall be read. */
	(void)sqlite3_db_config(db->handle, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
	/* BEGIN takes no lock: the first statement that reads begins the snapshot. */
	r = sqlite_db_run(db, "PRAGMA query_only=1; BEGIN; SELECT count(*) FROM sqlite_master;");
	if (r < 0)
		return r;
	*ret_db = take_ptr(db);
	return 0;
}

static int copy_pages(struct sqlite_db *snapshot, struct sqlite_db *target)
{
	sqlite3_backup *backup =
		sqlite3_backup_init(target->handle, "main", snapshot->handle, "main");
	int code;

	if (!backup)
		return sqlite_db_error(target, sqlite3_extended_errcode(target->handle));
	do
		code = sqlite3_backup_step(backup, STEP_PAGES);
	while (code == SQLITE_OK);
	code = sqlite3_backup_finish(backup);
	return code == SQLITE_OK ? 0 : sqlite_db_error(target, code);
}

static int synchronize(const char *path)
{
	scoped_fd int fd = open(path, O_RDONLY | O_CLOEXEC);

	return fd < 0 || fsync(fd) < 0 ? -errno : 0;
}

int sqlite_snapshot_copy(struct sqlite_db *snapshot, const char *path)
{
	struct sqlite_db *target;
	int r;

	if (access(path, F_OK) == 0)
		return -EEXIST;
	r = sqlite_db_open(path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL, 0, &target);
	if (r < 0)
		return r;
	/* Nobody uses the file before it is complete. */
	r = sqlite_db_run(target, "PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF;");
	if (r == 0)
		r = copy_pages(snapshot, target);
	(void)sqlite_db_free(target);
	return r < 0 ? r : synchronize(path);
}
