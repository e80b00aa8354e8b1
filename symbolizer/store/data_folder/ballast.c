/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/store/data_folder/ballast.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "common/base.h"
#include "common/limits.h"
#include "common/log.h"
#include "common/scoped.h"

/* Space that ballast_check() requires: more than a batch needs in the WAL. */
#define CHECK_BYTES (256 * KIB)

static uint64_t ballast_bytes(const struct statvfs *status)
{
	uint64_t total = (uint64_t)status->f_blocks * status->f_frsize;

	return MIN((uint64_t)BALLAST_MAX_BYTES, total / BALLAST_FRACTION);
}

/* 0: the whole ballast lies on the disk already, of an earlier run. */
static int find_missing(const struct ballast *ballast, uint64_t *ret_bytes)
{
	struct statvfs status;
	struct stat file;
	uint64_t bytes;

	if (fstatvfs(ballast->folder_fd, &status) < 0)
		return -errno;
	bytes = ballast_bytes(&status);
	*ret_bytes = bytes;
	if (fstatat(ballast->folder_fd, BALLAST_FILE, &file, AT_SYMLINK_NOFOLLOW) == 0 &&
	    (uint64_t)file.st_size >= bytes)
		*ret_bytes = 0;
	else if ((uint64_t)status.f_bavail * status.f_frsize < 2 * bytes)
		return -ENOSPC;
	return 0;
}

static int reserve(const struct ballast *ballast, uint64_t bytes)
{
	scoped_fd int fd = openat(ballast->folder_fd, BALLAST_FILE,
				  O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0640);
	int error;

	if (fd < 0)
		return -errno;
	error = posix_fallocate(fd, 0, (off_t)bytes);
	if (error != 0)
		(void)unlinkat(ballast->folder_fd, BALLAST_FILE, 0);
	return -error;
}

int ballast_hold(struct ballast *ballast)
{
	uint64_t bytes = 0;
	int r;

	if (ballast->is_held)
		return 0;
	r = find_missing(ballast, &bytes);
	if (r == 0 && bytes > 0)
		r = reserve(ballast, bytes);
	if (r == -ENOSPC || r == -EDQUOT)
		return r;
	if (r < 0)
		(void)log_warn_errno(r, "cannot reserve space in '" BALLAST_FILE
					"' of the data folder, a full disk may forbid a restart: "
					"%m");
	ballast->is_held = true;
	return 0;
}

void ballast_release(struct ballast *ballast)
{
	if (unlinkat(ballast->folder_fd, BALLAST_FILE, 0) == 0)
		log_warn("the disk of the data folder is full: removed '" BALLAST_FILE
			 "', refusing batches until there is space again");
	ballast->is_held = false;
}

void ballast_hold_first(struct ballast *ballast, const char *folder)
{
	if (ballast_hold(ballast) < 0)
		log_warn("the disk of '%s' is almost full: refusing batches until there is space",
			 folder);
}

/* For file systems without O_TMPFILE: it checks their reported free space. */
static int check_free_space(int folder_fd)
{
	struct statvfs status;

	if (fstatvfs(folder_fd, &status) < 0)
		return -errno;
	if (status.f_flag & ST_RDONLY)
		return -EROFS;
	return (uint64_t)status.f_bavail * status.f_frsize < CHECK_BYTES ? -ENOSPC : 0;
}

int ballast_check(const struct ballast *ballast)
{
	scoped_fd int fd = -1;
	uint64_t missing;
	int r = ballast->is_held ? 0 : find_missing(ballast, &missing);

	if (r < 0)
		return r;
	fd = openat(ballast->folder_fd, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (fd < 0)
		return errno == EOPNOTSUPP || errno == EISDIR ? check_free_space(ballast->folder_fd)
							      : -errno;
	return -posix_fallocate(fd, 0, (off_t)CHECK_BYTES);
}
