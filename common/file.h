/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Reads and writes whole files and ranges. All descriptors are opened with O_CLOEXEC. Errors are
 * negative errno.
 */

#include "common/bytes.h"

/*
 * Appends the content of @path (relative to @dir_fd, or AT_FDCWD) to @bytes. Works in /proc too.
 * -EFBIG: the content exceeds the ceiling of @bytes.
 */
int file_read_at(int dir_fd, const char *path, struct bytes *bytes);
int file_read(const char *path, struct bytes *bytes);

/* Repeats write() after short writes and EINTR until all bytes are written. */
int write_all(int fd, const void *data, size_t size);

/*
 * Reads exactly @size bytes at @offset. -ENODATA: the file ends before, for example because another
 * process truncated it.
 */
int pread_all(int fd, void *buffer, size_t size, uint64_t offset);

/*
 * Replaces @path atomically by a rename of a temporary file in the same folder: readers see the
 * whole old or the whole new content. Does not call fsync().
 */
int file_replace(const char *path, const void *data, size_t size, unsigned int mode);

/* Creates the folder @path and its parents (mkdir -p). 0 also if it exists already. */
int make_folders(const char *path, unsigned int mode);
