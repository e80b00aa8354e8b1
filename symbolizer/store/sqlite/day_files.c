/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/store/sqlite/day_files.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/vec.h"

/* Of st_blocks. */
#define DISK_BLOCK_BYTES 512

static const char *const suffixes[] = { "", "-wal", "-shm" };

static uint64_t allocated_bytes(int folder_fd, const char *name)
{
	struct stat status;

	if (fstatat(folder_fd, name, &status, AT_SYMLINK_NOFOLLOW) < 0)
		return 0;
	return (uint64_t)status.st_blocks * DISK_BLOCK_BYTES;
}

/* Of the database @name with its WAL and index. */
static uint64_t database_bytes(int folder_fd, const char *name)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < ARRAY_SIZE(suffixes); i++) {
		char path[DAY_FILE_NAME_SIZE + 8];

		(void)snprintf(path, sizeof(path), "%s%s", name, suffixes[i]);
		bytes += allocated_bytes(folder_fd, path);
	}
	return bytes;
}

static DIR *open_folder(int folder_fd)
{
	/* A new description: with dup() the position in the folder would be shared. */
	int fd = openat(folder_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *folder = fd < 0 ? NULL : fdopendir(fd);

	if (!folder && fd >= 0)
		(void)close(fd);
	return folder;
}

static int compare_days(const void *a, const void *b)
{
	const struct day_file *left = a;
	const struct day_file *right = b;

	return left->day < right->day ? -1 : left->day > right->day;
}

int day_samples_list(int folder_fd, struct arena *arena, struct day_file **ret_files,
		     size_t *ret_count)
{
	VEC_DEFINE(, struct day_file) files = {};
	DIR *folder = open_folder(folder_fd);
	const struct dirent *entry;
	struct day_file *copy;
	int r = 0;

	if (!folder)
		return -errno;
	while (r == 0 && (entry = readdir(folder))) {
		struct day_file file;

		if (!day_file_parse(entry->d_name, &file.day))
			continue;
		file.bytes = database_bytes(folder_fd, entry->d_name);
		r = vec_push(&files, file);
	}
	(void)closedir(folder);
	if (r == 0 && files.count > 0)
		qsort(files.items, files.count, sizeof(files.items[0]), compare_days);
	copy = r < 0 ? NULL : arena_copy(arena, files.items, files.count * sizeof(files.items[0]));
	*ret_count = files.count;
	vec_release(&files);
	if (!copy)
		return r < 0 ? r : -ENOMEM;
	*ret_files = copy;
	return 0;
}

size_t day_files_beyond(const struct day_file *files, size_t n_files, uint64_t bytes,
			uint64_t max_bytes)
{
	size_t count = 0;

	while (max_bytes != 0 && bytes > max_bytes && count + 1 < n_files) {
		bytes -= MIN(bytes, files[count].bytes);
		count++;
	}
	return count;
}

int day_samples_remove(int folder_fd, day_number day)
{
	char name[DAY_FILE_NAME_SIZE];
	int r = 0;

	day_file_name(day, name);
	for (size_t i = 0; i < ARRAY_SIZE(suffixes) && r == 0; i++) {
		char path[DAY_FILE_NAME_SIZE + 8];

		(void)snprintf(path, sizeof(path), "%s%s", name, suffixes[i]);
		if (unlinkat(folder_fd, path, 0) < 0 && errno != ENOENT)
			r = -errno;
	}
	return r;
}

uint64_t store_files_bytes(int folder_fd)
{
	uint64_t bytes = database_bytes(folder_fd, "hearth.db");
	DIR *folder = open_folder(folder_fd);
	const struct dirent *entry;
	day_number day;

	while (folder && (entry = readdir(folder)))
		if (day_file_parse(entry->d_name, &day))
			bytes += database_bytes(folder_fd, entry->d_name);
	if (folder)
		(void)closedir(folder);
	return bytes;
}
