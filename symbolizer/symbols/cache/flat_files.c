/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The modification time of a file is the time of its last use: it is set when the file is opened.
 * After a restart it gives the order in which left files are removed.
 */

#include "symbolizer/symbols/cache/flat_files.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/stat.h>

#include "common/file.h"
#include "common/vec.h"

#define SUFFIX     ".symbols"
#define PART       ".part"
#define NAME_BYTES (2 * sizeof(struct hash128) + sizeof(SUFFIX PART "-4294967295"))

struct left_file {
	struct hash128 name;
	uint64_t bytes;
	struct timespec used;
};

VEC_DEFINE(left_file_vec, struct left_file);

struct flat_files {
	int folder_fd;
	pthread_mutex_t lock;
	struct left_file_vec left; /* the most recently used first */
	uint64_t left_bytes;
	_Atomic uint32_t n_parts; /* makes names of incomplete files unique */
};

static void format_name(const struct hash128 *hash, const char *suffix, char ret_name[NAME_BYTES])
{
	hex_encode(hash->bytes, sizeof(hash->bytes), ret_name);
	(void)strncat(ret_name, suffix, NAME_BYTES - strlen(ret_name) - 1);
}

static bool parse_name(const char *name, struct hash128 *ret_hash)
{
	const size_t digits = 2 * sizeof(ret_hash->bytes);

	return strlen(name) == digits + strlen(SUFFIX) && strcmp(name + digits, SUFFIX) == 0 &&
	       hex_decode(name, digits, ret_hash->bytes, sizeof(ret_hash->bytes)) > 0;
}

static int add_left(struct flat_files *files, const char *name)
{
	struct left_file file;
	struct stat status;

	if (!parse_name(name, &file.name)) {
		/* An incomplete file is removed. Files with other names are left alone. */
		if (strstr(name, PART))
			(void)unlinkat(files->folder_fd, name, 0);
		return 0;
	}
	if (fstatat(files->folder_fd, name, &status, AT_SYMLINK_NOFOLLOW) < 0)
		return 0;
	file.bytes = (uint64_t)status.st_size;
	file.used = status.st_mtim;
	files->left_bytes += file.bytes;
	return vec_push(&files->left, file);
}

static int compare_use(const void *left, const void *right)
{
	const struct timespec *a = &((const struct left_file *)left)->used;
	const struct timespec *b = &((const struct left_file *)right)->used;

	if (a->tv_sec != b->tv_sec)
		return a->tv_sec > b->tv_sec ? -1 : 1;
	return a->tv_nsec > b->tv_nsec ? -1 : a->tv_nsec < b->tv_nsec;
}

static int read_folder(struct flat_files *files, const char *path)
{
	DIR *folder = opendir(path);
	const struct dirent *entry;
	int r = 0;

	if (!folder)
		return -errno;
	while (r == 0 && (entry = readdir(folder)))
		r = add_left(files, entry->d_name);
	(void)closedir(folder);
	if (r == 0 && files->left.count > 1)
		qsort(files->left.items, files->left.count, sizeof(*files->left.items),
		      compare_use);
	return r;
}

int flat_files_open(const char *folder, struct flat_files **ret_files)
{
	scoped(flat_files_freep) struct flat_files *files = calloc(1, sizeof(*files));
	int r;

	if (!files)
		return -ENOMEM;
	(void)pthread_mutex_init(&files->lock, NULL);
	files->folder_fd = -1;
	r = make_folders(folder, 0750);
	if (r < 0)
		return r;
	files->folder_fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (files->folder_fd < 0)
		return -errno;
	r = read_folder(files, folder);
	if (r < 0)
		return r;
	*ret_files = take_ptr(files);
	return 0;
}

struct flat_files *flat_files_free(struct flat_files *files)
{
	if (!files)
		return NULL;
	scoped_close(&files->folder_fd);
	vec_release(&files->left);
	(void)pthread_mutex_destroy(&files->lock);
	free(files);
	return NULL;
}

/* Removes a file from the list of left files. */
static void forget_left(struct flat_files *files, const struct hash128 *name)
{
	(void)pthread_mutex_lock(&files->lock);
	for (size_t i = 0; i < files->left.count; i++) {
		struct left_file *file = &files->left.items[i];

		if (memcmp(&file->name, name, sizeof(*name)) != 0)
			continue;
		files->left_bytes -= file->bytes;
		memmove(file, file + 1, (files->left.count - i - 1) * sizeof(*file));
		files->left.count--;
		break;
	}
	(void)pthread_mutex_unlock(&files->lock);
}

int flat_files_take(struct flat_files *files, const struct hash128 *name, int *ret_fd)
{
	char file_name[NAME_BYTES];
	int fd;

	format_name(name, SUFFIX, file_name);
	fd = openat(files->folder_fd, file_name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return errno == ENOENT ? 0 : -errno;
	forget_left(files, name);
	(void)futimens(fd, NULL);
	*ret_fd = fd;
	return 1;
}

static int write_part(int folder_fd, const char *name, struct bytes_view flat)
{
	scoped_fd int fd = openat(folder_fd, name,
				  O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0640);

	/* Not synced: opening the file checks it, and finds damage by a power failure. */
	return fd < 0 ? -errno : write_all(fd, flat.data, flat.size);
}

int flat_files_write(struct flat_files *files, const struct hash128 *name, struct bytes_view flat,
		     int *ret_fd)
{
	char part_name[NAME_BYTES], file_name[NAME_BYTES], suffix[32];
	int r;

	(void)snprintf(suffix, sizeof(suffix), SUFFIX PART "-%u", files->n_parts++);
	format_name(name, suffix, part_name);
	format_name(name, SUFFIX, file_name);
	r = write_part(files->folder_fd, part_name, flat);
	if (r == 0 && renameat(files->folder_fd, part_name, files->folder_fd, file_name) < 0)
		r = -errno;
	if (r < 0) {
		(void)unlinkat(files->folder_fd, part_name, 0);
		return r;
	}
	r = flat_files_take(files, name, ret_fd);
	return r == 0 ? -ENOENT : MIN(r, 0);
}

void flat_files_remove(struct flat_files *files, const struct hash128 *name)
{
	char file_name[NAME_BYTES];

	format_name(name, SUFFIX, file_name);
	(void)unlinkat(files->folder_fd, file_name, 0);
	forget_left(files, name);
}

uint64_t flat_files_left_bytes(struct flat_files *files)
{
	uint64_t bytes;

	(void)pthread_mutex_lock(&files->lock);
	bytes = files->left_bytes;
	(void)pthread_mutex_unlock(&files->lock);
	return bytes;
}

int flat_files_remove_left(struct flat_files *files)
{
	struct hash128 name;
	bool found;

	(void)pthread_mutex_lock(&files->lock);
	found = files->left.count > 0;
	if (found)
		name = files->left.items[files->left.count - 1].name;
	(void)pthread_mutex_unlock(&files->lock);
	if (!found)
		return 0;
	flat_files_remove(files, &name);
	return 1;
}
