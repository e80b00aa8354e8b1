/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The index in memory is an array of the batches' keys and sizes, sorted by key. The items before
 * `first` are unused, because removing the oldest batch only increments `first`. When half of the
 * array is unused, the other items are moved to its start. A new batch nearly always has the
 * highest key, so that its item is appended.
 */
#include "agent/upload/spool.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sys/stat.h>

#include "common/file.h"
#include "common/folder_lock.h"
#include "common/hash.h"
#include "common/limits.h"
#include "common/vec.h"

#define FILE_MAGIC "HSPOOL1\n"

/* "0123456789abcdef-0123456789abcdef.batch" */
#define NAME_SIZE   40
#define NAME_DIGITS 16
#define NAME_SUFFIX ".batch"
#define TEMPORARY   "incoming.tmp"
#define FOLDER_MODE 0700
#define FILE_MODE   0600

/* On disk, in little-endian byte order like all supported machines. */
struct file_header {
	char magic[8];
	uint64_t epoch;
	uint64_t sequence;
	uint64_t size;     /* of the batch after the header */
	uint64_t checksum; /* XXH3-64 of the batch */
};

static_assert(sizeof(struct file_header) == 40, "no padding on disk");

struct spool_item {
	struct spool_key key;
	uint64_t bytes; /* size of the file */
};

VEC_DEFINE(spool_items, struct spool_item);

struct spool {
	char *folder;
	int folder_fd;
	uint64_t max_bytes;
	spool_lost lost;
	void *argument;
	struct spool_items items;
	size_t first;
	uint64_t bytes;           /* size of all files */
	bool first_is_being_sent; /* the caller of spool_first() is sending it */
};

static int compare_keys(const struct spool_key *a, const struct spool_key *b)
{
	if (a->epoch != b->epoch)
		return a->epoch < b->epoch ? -1 : 1;
	return (a->sequence > b->sequence) - (a->sequence < b->sequence);
}

static int compare_items(const void *a, const void *b)
{
	return compare_keys(&((const struct spool_item *)a)->key,
			    &((const struct spool_item *)b)->key);
}

static void format_name(const struct spool_key *key, char ret_name[NAME_SIZE])
{
	(void)snprintf(ret_name, NAME_SIZE, "%016" PRIx64 "-%016" PRIx64 NAME_SUFFIX, key->epoch,
		       key->sequence);
}

static bool parse_hex(const char *text, uint64_t *ret_value)
{
	uint8_t raw[NAME_DIGITS / 2];
	uint64_t value = 0;

	if (hex_decode(text, NAME_DIGITS, raw, sizeof(raw)) != (int)sizeof(raw))
		return false;
	for (size_t i = 0; i < sizeof(raw); i++)
		value = value << 8 | raw[i];
	*ret_value = value;
	return true;
}

static bool parse_name(const char *name, struct spool_key *ret_key)
{
	return strlen(name) == NAME_SIZE - 1 && name[NAME_DIGITS] == '-' &&
	       strcmp(name + 2 * NAME_DIGITS + 1, NAME_SUFFIX) == 0 &&
	       parse_hex(name, &ret_key->epoch) &&
	       parse_hex(name + NAME_DIGITS + 1, &ret_key->sequence);
}

size_t spool_count(const struct spool *spool)
{
	return spool->items.count - spool->first;
}

uint64_t spool_bytes(const struct spool *spool)
{
	return spool->bytes;
}

static void remove_file(const struct spool *spool, const struct spool_key *key)
{
	char name[NAME_SIZE];

	format_name(key, name);
	(void)unlinkat(spool->folder_fd, name, 0);
}

/* Removes the item at @index and deletes its file. */
static void remove_at(struct spool *spool, size_t index)
{
	struct spool_items *items = &spool->items;

	remove_file(spool, &items->items[index].key);
	spool->bytes -= items->items[index].bytes;
	/* Close the gap: move the older items up by one. The oldest item has none. */
	memmove(&items->items[spool->first + 1], &items->items[spool->first],
		(index - spool->first) * sizeof(*items->items));
	spool->first++;
	if (spool->first * 2 < items->count)
		return;
	memmove(items->items, &items->items[spool->first],
		(items->count - spool->first) * sizeof(*items->items));
	items->count -= spool->first;
	spool->first = 0;
}

static void drop_item(struct spool *spool, size_t index, int problem)
{
	struct spool_key key = spool->items.items[index].key;

	remove_at(spool, index);
	if (spool->lost)
		spool->lost(spool->argument, &key, problem);
}

/*
 * Drops the oldest batches, but not one that is being sent, until @extra more bytes fit. False:
 * they do not fit.
 */
static bool make_room(struct spool *spool, uint64_t extra)
{
	size_t kept = spool->first_is_being_sent ? 1 : 0;

	while (spool->bytes + extra > spool->max_bytes) {
		if (spool_count(spool) <= kept)
			return false;
		drop_item(spool, spool->first + kept, 0);
	}
	return true;
}

static int add_found_file(struct spool *spool, const char *name)
{
	struct spool_item item;
	struct stat status;

	if (!parse_name(name, &item.key))
		return 0;
	if (fstatat(spool->folder_fd, name, &status, AT_SYMLINK_NOFOLLOW) < 0 ||
	    !S_ISREG(status.st_mode))
		return 0;
	item.bytes = (uint64_t)status.st_size;
	spool->bytes += item.bytes;
	return vec_push(&spool->items, item);
}

static int find_files(struct spool *spool)
{
	const struct dirent *entry;
	int fd = openat(spool->folder_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *folder = fd < 0 ? NULL : fdopendir(fd);
	int r = 0;

	if (!folder) {
		r = -errno;
		if (fd >= 0)
			(void)close(fd);
		return r;
	}
	while (r == 0 && (entry = readdir(folder)))
		r = add_found_file(spool, entry->d_name);
	(void)closedir(folder);
	if (spool->items.count > 1)
		qsort(spool->items.items, spool->items.count, sizeof(*spool->items.items),
		      compare_items);
	return r;
}

static int open_folder(struct spool *spool, const char *path)
{
	int r;

	spool->folder = strdup(path);
	if (!spool->folder)
		return -ENOMEM;
	r = make_folders(path, FOLDER_MODE);
	if (r < 0)
		return r;
	spool->folder_fd = folder_lock(path);
	if (spool->folder_fd < 0)
		return spool->folder_fd;
	/* Report an unwritable folder at the start, not when the first batch must be stored. */
	if (faccessat(spool->folder_fd, ".", W_OK | X_OK, AT_EACCESS) < 0)
		return -errno;
	(void)unlinkat(spool->folder_fd, TEMPORARY, 0);
	return 0;
}

int spool_open(const struct spool_options *options, struct spool **ret_spool)
{
	scoped(spool_closep) struct spool *spool = calloc(1, sizeof(*spool));
	int r;

	if (!spool)
		return -ENOMEM;
	spool->folder_fd = -1;
	spool->max_bytes = options->max_bytes;
	spool->lost = options->lost;
	spool->argument = options->argument;
	r = open_folder(spool, options->folder);
	if (r < 0)
		return r;
	r = find_files(spool);
	if (r < 0)
		return r;
	(void)make_room(spool, 0);
	*ret_spool = take_ptr(spool);
	return 0;
}

struct spool *spool_close(struct spool *spool)
{
	if (!spool)
		return NULL;
	if (spool->folder_fd >= 0)
		(void)close(spool->folder_fd);
	vec_release(&spool->items);
	free(spool->folder);
	free(spool);
	return NULL;
}

static int write_temporary(const struct spool *spool, const struct file_header *header,
			   struct bytes_view batch)
{
	scoped_fd int fd = openat(spool->folder_fd, TEMPORARY,
				  O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, FILE_MODE);
	int r;

	if (fd < 0)
		return -errno;
	r = write_all(fd, header, sizeof(*header));
	if (r < 0)
		return r;
	r = write_all(fd, batch.data, batch.size);
	if (r < 0)
		return r;
	return fsync(fd) < 0 ? -errno : 0;
}

static int write_file(const struct spool *spool, const struct spool_key *key,
		      struct bytes_view batch)
{
	struct file_header header = {
		.epoch = key->epoch,
		.sequence = key->sequence,
		.size = batch.size,
		.checksum = hash64_of(batch.data, batch.size),
	};
	char name[NAME_SIZE];
	int r;

	memcpy(header.magic, FILE_MAGIC, sizeof(header.magic));
	format_name(key, name);
	r = write_temporary(spool, &header, batch);
	if (r == 0 && renameat(spool->folder_fd, TEMPORARY, spool->folder_fd, name) < 0)
		r = -errno;
	if (r < 0) {
		(void)unlinkat(spool->folder_fd, TEMPORARY, 0);
		return r;
	}
	return fsync(spool->folder_fd) < 0 ? -errno : 0;
}

/*
 * Adds an item; the caller has reserved room in the array. If the array has the key, only the size
 * of that item changes. The batch that spool_first() returned stays first, even if the new key is
 * lower: an epoch is the start time of the agent, so if the clock was set back between two starts,
 * the later epoch is the lower one.
 */
static void index_item(struct spool *spool, const struct spool_item *item)
{
	struct spool_items *items = &spool->items;
	size_t lowest = spool->first + (spool->first_is_being_sent ? 1 : 0);
	size_t at = items->count;

	while (at > lowest && compare_keys(&items->items[at - 1].key, &item->key) > 0)
		at--;
	if (at > spool->first && compare_keys(&items->items[at - 1].key, &item->key) == 0) {
		spool->bytes += item->bytes - items->items[at - 1].bytes;
		items->items[at - 1] = *item;
		return;
	}
	memmove(&items->items[at + 1], &items->items[at],
		(items->count - at) * sizeof(*items->items));
	items->items[at] = *item;
	items->count++;
	spool->bytes += item->bytes;
}

int spool_push(struct spool *spool, const struct spool_key *key, struct bytes_view batch)
{
	struct spool_item item = {
		.key = *key,
		.bytes = sizeof(struct file_header) + batch.size,
	};
	int r;

	r = vec_reserve(&spool->items, 1);
	if (r < 0)
		return r;
	if (item.bytes > spool->max_bytes || !make_room(spool, item.bytes))
		return -EFBIG;
	r = write_file(spool, key, batch);
	if (r < 0)
		return r;
	index_item(spool, &item);
	return 0;
}

/* 0, -EBADMSG (damaged), -ENOMEM, or a read error. Appends nothing on failure. */
static int read_file(const struct spool *spool, const struct spool_item *item, struct bytes *out)
{
	const size_t old_size = out->size;
	struct file_header header;
	char name[NAME_SIZE];
	scoped_fd int fd = -1;
	int r;

	format_name(&item->key, name);
	fd = openat(spool->folder_fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return -errno;
	r = pread_all(fd, &header, sizeof(header), 0);
	if (r < 0)
		return r == -ENODATA ? -EBADMSG : r;
	if (memcmp(header.magic, FILE_MAGIC, sizeof(header.magic)) != 0 ||
	    header.epoch != item->key.epoch || header.sequence != item->key.sequence ||
	    header.size > BATCH_MAX_COMPRESSED_BYTES || header.size + sizeof(header) != item->bytes)
		return -EBADMSG;
	if (bytes_reserve(out, header.size) < 0)
		return -ENOMEM;
	r = pread_all(fd, out->data + old_size, header.size, sizeof(header));
	if (r < 0)
		return r == -ENODATA ? -EBADMSG : r;
	if (hash64_of(out->data + old_size, header.size) != header.checksum)
		return -EBADMSG;
	out->size += header.size;
	return 0;
}

int spool_first(struct spool *spool, struct spool_key *ret_key, struct bytes *out)
{
	while (spool_count(spool) > 0) {
		const struct spool_item *item = &spool->items.items[spool->first];
		int r = read_file(spool, item, out);

		if (r == 0) {
			*ret_key = item->key;
			spool->first_is_being_sent = true;
			return 1;
		}
		if (r == -ENOMEM)
			return r;
		spool->first_is_being_sent = false;
		drop_item(spool, spool->first, r);
	}
	return 0;
}

void spool_remove_first(struct spool *spool)
{
	assert(spool->first_is_being_sent);
	spool->first_is_being_sent = false;
	remove_at(spool, spool->first);
}
