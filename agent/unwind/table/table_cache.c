/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The index is a plain array, because a host has some hundred tables, and each is looked up once in
 * the lifetime of an agent. The modification time of a file is the time of its last use, so that
 * the order survives a restart.
 */
#include "agent/unwind/table/table_cache.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sys/stat.h>

#include "common/file.h"
#include "common/folder_lock.h"
#include "common/vec.h"

/* "<maker>-<key>.table", 16 and 32 hexadecimal digits. */
#define NAME_MAKER_DIGITS 16
#define NAME_KEY_DIGITS   32
#define NAME_SUFFIX       ".table"
#define NAME_SIZE         (NAME_MAKER_DIGITS + 1 + NAME_KEY_DIGITS + sizeof(NAME_SUFFIX))
/* "incoming-<number>.tmp", numbered from 0 in each run. */
#define TEMPORARY_PREFIX "incoming-"
#define TEMPORARY_SUFFIX ".tmp"
#define FOLDER_MODE      0700
#define FILE_MODE        0600

/* The smallest space that a file takes on disk. */
#define BLOCK_BYTES UINT64_C(4096)

/* The maps cannot hold more. */
#define MAX_ENTRIES 8192

struct entry {
	struct hash128 key;
	uint64_t bytes;
	/* rises with every use; in earlier runs it was the wall clock in nanoseconds */
	uint64_t used;
};

VEC_DEFINE(entry_vec, struct entry);

struct table_cache {
	int folder_fd;
	uint64_t max_bytes;
	uint64_t maker;
	struct entry_vec entries;
	uint64_t bytes;
	uint64_t last_used;
	uint32_t next_temporary;
};

uint64_t table_cache_bytes(const struct table_cache *cache)
{
	return cache->bytes;
}

size_t table_cache_count(const struct table_cache *cache)
{
	return cache->entries.count;
}

static void format_name(const struct table_cache *cache, const struct hash128 *key,
			char ret_name[NAME_SIZE])
{
	char digits[NAME_KEY_DIGITS + 1];

	hex_encode(key, sizeof(*key), digits);
	(void)snprintf(ret_name, NAME_SIZE, "%016" PRIx64 "-%s" NAME_SUFFIX, cache->maker, digits);
}

enum name_kind {
	NAME_FOREIGN, /* not a name of this cache: the file is left alone */
	NAME_OF_ANOTHER_MAKER,
	NAME_OURS,
};

static enum name_kind parse_name(const struct table_cache *cache, const char *name,
				 struct hash128 *ret_key)
{
	uint8_t maker[NAME_MAKER_DIGITS / 2];
	char ours[NAME_SIZE];

	if (strlen(name) != NAME_SIZE - 1 || name[NAME_MAKER_DIGITS] != '-' ||
	    strcmp(name + NAME_MAKER_DIGITS + 1 + NAME_KEY_DIGITS, NAME_SUFFIX) != 0 ||
	    hex_decode(name, NAME_MAKER_DIGITS, maker, sizeof(maker)) < 0 ||
	    hex_decode(name + NAME_MAKER_DIGITS + 1, NAME_KEY_DIGITS, ret_key, sizeof(*ret_key)) <
		    0)
		return NAME_FOREIGN;
	format_name(cache, ret_key, ours);
	return strcmp(name, ours) == 0 ? NAME_OURS : NAME_OF_ANOTHER_MAKER;
}

static struct entry *find(struct table_cache *cache, const struct hash128 *key)
{
	for (size_t i = 0; i < cache->entries.count; i++)
		if (memcmp(&cache->entries.items[i].key, key, sizeof(*key)) == 0)
			return &cache->entries.items[i];
	return NULL;
}

static void remove_entry(struct table_cache *cache, struct entry *entry)
{
	char name[NAME_SIZE];

	format_name(cache, &entry->key, name);
	(void)unlinkat(cache->folder_fd, name, 0);
	cache->bytes -= entry->bytes;
	*entry = cache->entries.items[--cache->entries.count];
}

static struct entry *least_used(struct table_cache *cache)
{
	struct entry *oldest = &cache->entries.items[0];

	for (size_t i = 1; i < cache->entries.count; i++)
		if (cache->entries.items[i].used < oldest->used)
			oldest = &cache->entries.items[i];
	return oldest;
}

/* False: @extra_bytes do not fit even into an empty cache. */
static bool make_room(struct table_cache *cache, uint64_t extra_bytes)
{
	if (extra_bytes > cache->max_bytes)
		return false;
	while (cache->bytes + extra_bytes > cache->max_bytes || cache->entries.count >= MAX_ENTRIES)
		remove_entry(cache, least_used(cache));
	return true;
}

static uint64_t disk_bytes(uint64_t file_bytes)
{
	return ROUND_UP(file_bytes, BLOCK_BYTES);
}

/* ---- the folder ------------------------------------------------------------------------------ */

/* A temporary file of an earlier run. */
static bool is_temporary(const char *name)
{
	size_t length = strlen(name);

	return strncmp(name, TEMPORARY_PREFIX, strlen(TEMPORARY_PREFIX)) == 0 &&
	       length > strlen(TEMPORARY_SUFFIX) &&
	       strcmp(name + length - strlen(TEMPORARY_SUFFIX), TEMPORARY_SUFFIX) == 0;
}

static int add_found_file(struct table_cache *cache, const char *name)
{
	struct stat status;
	struct entry entry;
	enum name_kind kind = parse_name(cache, name, &entry.key);

	if (kind == NAME_FOREIGN && is_temporary(name))
		(void)unlinkat(cache->folder_fd, name, 0);
	if (kind == NAME_FOREIGN)
		return 0;
	if (kind == NAME_OF_ANOTHER_MAKER ||
	    fstatat(cache->folder_fd, name, &status, AT_SYMLINK_NOFOLLOW) < 0 ||
	    !S_ISREG(status.st_mode)) {
		(void)unlinkat(cache->folder_fd, name, 0);
		return 0;
	}
	entry.bytes = disk_bytes((uint64_t)status.st_size);
	entry.used =
		(uint64_t)status.st_mtim.tv_sec * NSEC_PER_SEC + (uint64_t)status.st_mtim.tv_nsec;
	cache->bytes += entry.bytes;
	cache->last_used = MAX(cache->last_used, entry.used);
	return vec_push(&cache->entries, entry);
}

static int find_files(struct table_cache *cache)
{
	int fd = openat(cache->folder_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *folder = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *entry;
	int r = 0;

	if (!folder) {
		r = -errno;
		if (fd >= 0)
			(void)close(fd);
		return r;
	}
	while (r == 0 && (entry = readdir(folder)))
		r = add_found_file(cache, entry->d_name);
	(void)closedir(folder);
	return r;
}

static int open_folder(struct table_cache *cache, const char *path)
{
	struct stat status;
	int r;

	r = make_folders(path, FOLDER_MODE);
	if (r < 0)
		return r;
	cache->folder_fd = folder_lock(path);
	if (cache->folder_fd < 0)
		return cache->folder_fd;
	if (fstat(cache->folder_fd, &status) < 0)
		return -errno;
	/* A user who can write to the folder could mislead the unwinder. */
	if (status.st_uid != geteuid() || status.st_mode & (S_IWGRP | S_IWOTH))
		return -EPERM;
	return 0;
}

int table_cache_open(const struct table_cache_options *options, struct table_cache **ret_cache)
{
	scoped(table_cache_closep) struct table_cache *cache = calloc(1, sizeof(*cache));
	int r;

	if (!cache)
		return -ENOMEM;
	cache->folder_fd = -1;
	cache->max_bytes = options->max_bytes;
	cache->maker = options->maker;
	r = open_folder(cache, options->folder);
	if (r < 0)
		return r;
	r = find_files(cache);
	if (r < 0)
		return r;
	(void)make_room(cache, 0);
	*ret_cache = take_ptr(cache);
	return 0;
}

struct table_cache *table_cache_close(struct table_cache *cache)
{
	if (!cache)
		return NULL;
	if (cache->folder_fd >= 0)
		(void)close(cache->folder_fd);
	vec_release(&cache->entries);
	free(cache);
	return NULL;
}

/* ---- tables ---------------------------------------------------------------------------------- */

int table_cache_find(struct table_cache *cache, const struct hash128 *key, int *ret_fd)
{
	struct entry *entry = find(cache, key);
	char name[NAME_SIZE];
	int fd;

	if (!entry)
		return 0;
	format_name(cache, key, name);
	fd = openat(cache->folder_fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0) {
		remove_entry(cache, entry);
		return 0;
	}
	(void)futimens(fd, (const struct timespec[2]){ { .tv_nsec = UTIME_OMIT },
						       { .tv_nsec = UTIME_NOW } });
	entry->used = ++cache->last_used;
	*ret_fd = fd;
	return 1;
}

void table_cache_remove(struct table_cache *cache, const struct hash128 *key)
{
	struct entry *entry = find(cache, key);

	if (entry)
		remove_entry(cache, entry);
}

static void format_temporary(uint32_t number, char ret_name[NAME_SIZE])
{
	(void)snprintf(ret_name, NAME_SIZE, TEMPORARY_PREFIX "%" PRIu32 TEMPORARY_SUFFIX, number);
}

int table_cache_create(struct table_cache *cache, struct table_cache_file *ret_file)
{
	uint32_t number = cache->next_temporary++;
	char name[NAME_SIZE];
	int fd;

	format_temporary(number, name);
	fd = openat(cache->folder_fd, name, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW,
		    FILE_MODE);
	if (fd < 0)
		return -errno;
	*ret_file = (struct table_cache_file){ .fd = fd, .number = number };
	return 0;
}

void table_cache_discard(struct table_cache *cache, const struct table_cache_file *file)
{
	char name[NAME_SIZE];

	format_temporary(file->number, name);
	(void)unlinkat(cache->folder_fd, name, 0);
}

/* 1: added; 0: too large; negative errno. */
static int add_file(struct table_cache *cache, const struct table_cache_file *file,
		    const struct hash128 *key)
{
	struct entry *known = find(cache, key);
	struct entry entry = { .key = *key };
	char temporary[NAME_SIZE], name[NAME_SIZE];
	struct stat status;
	int r;

	if (fstat(file->fd, &status) < 0)
		return -errno;
	entry.bytes = disk_bytes((uint64_t)status.st_size);
	if (known)
		remove_entry(cache, known);
	if (!make_room(cache, entry.bytes))
		return 0;
	r = vec_reserve(&cache->entries, 1);
	if (r < 0)
		return r;
	format_temporary(file->number, temporary);
	format_name(cache, key, name);
	if (renameat(cache->folder_fd, temporary, cache->folder_fd, name) < 0)
		return -errno;
	entry.used = ++cache->last_used;
	cache->entries.items[cache->entries.count++] = entry;
	cache->bytes += entry.bytes;
	return 1;
}

int table_cache_keep(struct table_cache *cache, const struct table_cache_file *file,
		     const struct hash128 *key)
{
	int r = add_file(cache, file, key);

	if (r <= 0)
		table_cache_discard(cache, file);
	return r;
}
