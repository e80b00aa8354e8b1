/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Samples and definitions are snapshots of one moment (store_backup.h). Debuginfo and symbol tables
 * are snapshots of a later moment: they refer to executables by build ID, so that they need not
 * agree with the samples.
 */

#include "symbolizer/backup_command.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/bytes.h"
#include "common/file.h"
#include "common/limits.h"
#include "symbolizer/sqlite/sqlite_copy.h"
#include "symbolizer/store/segment_store/segment_backup.h"
#include "symbolizer/store/sqlite/store_backup.h"

#define FOLDER_MODE 0750
#define FILE_MODE   0640

/* Databases besides the sample store. A data folder that is new may lack them. */
static const char *const databases[] = { "debuginfo.db", "symbols.db" };

/* Files of one line that retention keeps. */
static const char *const small_files[] = { "retention-clock", "retention-size" };
#define SMALL_FILE_BYTES 4096

static int copy_database(const char *from, const char *to)
{
	scoped(sqlite_db_freep) struct sqlite_db *snapshot = NULL;
	int r;

	r = sqlite_snapshot_open(from, &snapshot);
	if (r < 0)
		return r == -ENOENT ? 0 : r;
	return sqlite_snapshot_copy(snapshot, to);
}

static int copy_small_file(const char *from, const char *to)
{
	scoped(bytes_release) struct bytes content = BYTES_INIT(SMALL_FILE_BYTES);
	int r;

	r = file_read(from, &content);
	if (r < 0)
		return r == -ENOENT ? 0 : r;
	return file_replace(to, content.data, content.size, FILE_MODE);
}

static int copy_files(const char *data, const char *target, const char *const *names, size_t count,
		      int (*copy)(const char *from, const char *to))
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < count; i++) {
		scoped_free char *from = NULL;
		scoped_free char *to = NULL;

		if (asprintf(&from, "%s/%s", data, names[i]) < 0 ||
		    asprintf(&to, "%s/%s", target, names[i]) < 0)
			return -ENOMEM;
		r = copy(from, to);
	}
	return r;
}

static int copy_segments(const char *data, const char *target)
{
	scoped(snapshot_set_release) struct snapshot_set set = {};
	int r = segment_backup_add(&set, data);

	return r < 0 ? r : snapshot_set_copy(&set, target);
}

static int copy_days(const char *data, const char *target)
{
	scoped(store_snapshots_freep) struct store_snapshots *snapshots = NULL;
	int r = store_snapshots_open(data, &snapshots);

	return r < 0 ? r : store_snapshots_copy(snapshots, target);
}

/* A folder in which the key store was changed has the files of both engines. */
static int copy_samples(const char *data, const char *target)
{
	int r;

	if (!segment_backup_has_store(data))
		return copy_days(data, target);
	r = copy_segments(data, target);
	return r == 0 && store_snapshots_has_store(data) ? copy_days(data, target) : r;
}

static int copy_all(const char *data, bool has_samples, const char *target)
{
	int r = has_samples ? copy_samples(data, target) : 0;

	if (r == 0)
		r = copy_files(data, target, databases, ARRAY_SIZE(databases), copy_database);
	if (r == 0)
		r = copy_files(data, target, small_files, ARRAY_SIZE(small_files), copy_small_file);
	return r;
}

static int synchronize_folder(const char *path)
{
	scoped_fd int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 || fsync(fd) < 0 ? -errno : 0;
}

static int fail(int error, char ret_message[BACKUP_MESSAGE_SIZE], const char *attempt,
		const char *path, const char *remedy)
{
	(void)snprintf(ret_message, BACKUP_MESSAGE_SIZE, "cannot %s '%.400s': %s; %s", attempt,
		       path, strerror(-error), remedy);
	return error;
}

int backup_command(const char *data, bool has_samples, const char *target,
		   char ret_message[BACKUP_MESSAGE_SIZE])
{
	scoped_free char *partial = NULL;
	int r;

	if (access(target, F_OK) == 0)
		return fail(-EEXIST, ret_message, "back up to", target,
			    "choose a folder that does not exist");
	if (asprintf(&partial, "%s.partial", target) < 0)
		return -ENOMEM;
	if (mkdir(partial, FOLDER_MODE) < 0)
		return fail(-errno, ret_message, "create", partial,
			    "remove what an interrupted backup left, or choose another folder");
	r = copy_all(data, has_samples, partial);
	/* Without effect if the folder has files. */
	if (r < 0)
		(void)rmdir(partial);
	if (r == -ENOENT)
		return fail(r, ret_message, "back up", data,
			    "it is no data folder: name the right one with --data");
	if (r < 0)
		return fail(r, ret_message, "back up", data,
			    "run as the user of the server, with room for the copy; remove the "
			    "folder that ends in .partial");
	r = synchronize_folder(partial);
	if (r == 0 && rename(partial, target) < 0)
		r = -errno;
	return r < 0 ? fail(r, ret_message, "complete", partial, "check the file system") : 0;
}
