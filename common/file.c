/* SPDX-License-Identifier: Apache-2.0 */
#include "common/file.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/scoped.h"

/* Size of a read() if the size of the file is not known, as in /proc. */
#define FIRST_READ_BYTES ((size_t)4096)

static ssize_t read_some(int fd, void *buffer, size_t size)
{
	ssize_t n;

	do
		n = read(fd, buffer, size);
	while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : n;
}

/* Returns the file size plus one byte, so that the buffer need not grow for the last read(). */
static size_t first_read_size(int fd, size_t room)
{
	struct stat status;

	if (fstat(fd, &status) < 0 || status.st_size <= 0 || (uint64_t)status.st_size >= room)
		return MIN(FIRST_READ_BYTES, room);
	return (size_t)status.st_size + 1;
}

static int read_to_end(int fd, struct bytes *bytes)
{
	size_t room = bytes->ceiling - bytes->size;
	size_t wanted = first_read_size(fd, room);

	for (;;) {
		uint8_t beyond;
		ssize_t n;
		int r;

		room = bytes->ceiling - bytes->size;
		r = bytes_reserve(bytes, MIN(wanted, room));
		if (r < 0)
			return r;
		if (room == 0)
			n = read_some(fd, &beyond, 1);
		else
			n = read_some(fd, bytes->data + bytes->size,
				      MIN(bytes->capacity - bytes->size, room));
		if (n <= 0)
			return (int)n;
		if (room == 0)
			return bytes->error = -EFBIG;
		bytes->size += (size_t)n;
		wanted = bytes->capacity == bytes->size ? FIRST_READ_BYTES : 1;
	}
}

int file_read_at(int dir_fd, const char *path, struct bytes *bytes)
{
	const size_t old_size = bytes->size;
	scoped_fd int fd = -1;
	int r;

	if (bytes->error)
		return bytes->error;
	fd = openat(dir_fd, path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	if (fd < 0)
		return -errno;
	r = read_to_end(fd, bytes);
	if (r < 0)
		bytes->size = old_size;
	return r;
}

int file_read(const char *path, struct bytes *bytes)
{
	return file_read_at(AT_FDCWD, path, bytes);
}

int write_all(int fd, const void *data, size_t size)
{
	const uint8_t *next = data;

	while (size > 0) {
		ssize_t n = write(fd, next, size);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			return -EIO;
		next += n;
		size -= (size_t)n;
	}
	return 0;
}

int pread_all(int fd, void *buffer, size_t size, uint64_t offset)
{
	uint8_t *next = buffer;

	if (offset > INT64_MAX || size > INT64_MAX - offset)
		return -ENODATA;
	while (size > 0) {
		ssize_t n = pread(fd, next, size, (off_t)offset);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			return -ENODATA;
		next += n;
		size -= (size_t)n;
		offset += (uint64_t)n;
	}
	return 0;
}

int file_replace(const char *path, const void *data, size_t size, unsigned int mode)
{
	scoped_free char *temporary = NULL;
	scoped_fd int fd = -1;
	int r;

	if (asprintf(&temporary, "%s.XXXXXX", path) < 0) {
		temporary = NULL;
		return -ENOMEM;
	}
	fd = mkostemp(temporary, O_CLOEXEC);
	if (fd < 0)
		return -errno;
	r = fchmod(fd, mode) < 0 ? -errno : write_all(fd, data, size);
	if (r == 0 && rename(temporary, path) < 0)
		r = -errno;
	if (r < 0)
		(void)unlink(temporary);
	return r;
}

static int make_folder(const char *path, unsigned int mode)
{
	struct stat status;
	int error;

	if (mkdir(path, mode) == 0)
		return 0;
	error = errno;
	/* For an existing parent in a folder that we may not write to, mkdir() may fail with EACCES
	 * or EROFS instead of EEXIST. */
	if (stat(path, &status) < 0)
		return -error;
	return S_ISDIR(status.st_mode) ? 0 : -ENOTDIR;
}

int make_folders(const char *path, unsigned int mode)
{
	scoped_free char *prefix = strdup(path);

	if (!prefix)
		return -ENOMEM;
	for (char *slash = strchr(prefix + (*prefix == '/'), '/'); slash;
	     slash = strchr(slash + 1, '/')) {
		int r;

		*slash = '\0';
		r = make_folder(prefix, mode);
		*slash = '/';
		if (r < 0)
			return r;
	}
	return make_folder(prefix, mode);
}
