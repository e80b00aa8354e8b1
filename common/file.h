/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Whole-file helpers. All open with O_CLOEXEC. Errors are negative errno.
 */

#include "common/bytes.h"

/*
 * Reads all of @path (relative to @dir_fd, or AT_FDCWD) into @bytes, also from /proc. -EFBIG beyond
 * @bytes' ceiling.
 */
int file_read_at(int dir_fd, const char *path, struct bytes *bytes);
int file_read(const char *path, struct bytes *bytes);

/* Writes all, through short writes and EINTR. */
int write_all(int fd, const void *data, size_t size);

/*
 * Reads exactly @size bytes at @offset. -ENODATA when the file ends before (a file truncated under
 * us).
 */
int pread_all(int fd, void *buffer, size_t size, uint64_t offset);

/*
 * Replaces @path (temporary file beside it, rename): readers meet old or new content, whole.
 * Nothing is synced.
 */
int file_replace(const char *path, const void *data, size_t size, unsigned int mode);

/* mkdir -p. 0 also when it is there. */
int make_folders(const char *path, unsigned int mode);
