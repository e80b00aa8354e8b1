/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Watched files are indexed by the kernel's report of the mapping and by watch descriptor. A watch
 * ends with its first event (IN_ONESHOT), so a file that is written continuously costs one event
 * each time that it is identified.
 *
 * The kernel queues the event before the system call that changes the file returns. Therefore
 * events have to be read only if they were not read since the file was mapped.
 */
#include "agent/executable/file_watch.h"

#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/hash_table.h"
#include "common/scoped.h"

#define WATCHED_CHANGES (IN_MODIFY | IN_ATTRIB | IN_CLOSE_WRITE | IN_DELETE_SELF | IN_ONESHOT)

/*
 * A file is watched only if it has not changed for this long. File times have the resolution of the
 * kernel's tick, at most 10 ms, so they cannot show a second change within the same tick.
 */
#define MIN_AGE_NS (50 * NSEC_PER_MSEC)

/* Without padding, because it is used as a hash key. */
struct watch_key {
	uint64_t device, inode, generation;
};

struct watch_entry {
	uint64_t ticket;     /* 0: the file cannot be watched */
	uint64_t used;       /* value of the clock at the last look-up */
	int descriptor;      /* -1: none */
	uint32_t executable; /* number; 0: not identified yet */
	bool is_trusted;
};

struct file_watch {
	int fd;
	size_t max_files;
	uint64_t last_ticket;
	uint64_t clock;                   /* look-ups so far */
	uint64_t read_ns;                 /* when events were last read */
	struct hash_table *by_file;       /* struct watch_key -> struct watch_entry */
	struct hash_table *by_descriptor; /* int -> struct watch_key */
};

int file_watch_new(size_t max_files, struct file_watch **ret_watch)
{
	scoped(file_watch_freep) struct file_watch *watch = calloc(1, sizeof(*watch));
	int r;

	if (!watch)
		return -ENOMEM;
	watch->max_files = max_files;
	watch->fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	if (watch->fd < 0)
		return -errno;
	r = hash_table_new(sizeof(struct watch_key), sizeof(struct watch_entry), 0,
			   &watch->by_file);
	if (r < 0)
		return r;
	r = hash_table_new(sizeof(int), sizeof(struct watch_key), 0, &watch->by_descriptor);
	if (r < 0)
		return r;
	*ret_watch = take_ptr(watch);
	return 0;
}

struct file_watch *file_watch_free(struct file_watch *watch)
{
	if (!watch)
		return NULL;
	scoped_close(&watch->fd);
	(void)hash_table_free(watch->by_file);
	(void)hash_table_free(watch->by_descriptor);
	free(watch);
	return NULL;
}

size_t file_watch_count(const struct file_watch *watch)
{
	return hash_table_count(watch->by_descriptor);
}

static struct watch_key key_of(const struct reported_file *reported)
{
	return (struct watch_key){ .device = reported->device,
				   .inode = reported->inode,
				   .generation = reported->generation };
}

static struct watch_entry *find(struct file_watch *watch, const struct reported_file *reported)
{
	const struct watch_key key = key_of(reported);
	struct watch_entry *entry = hash_table_find(watch->by_file, &key);

	if (entry)
		entry->used = ++watch->clock;
	return entry;
}

/* ---- changes ------------------------------------------------------------------------------- */

/*
 * Two different reports may refer to one file, for example on a file system with device numbers
 * different from those of stat(2). The descriptor belongs to the later report.
 */
static void forget_descriptor(struct file_watch *watch, int descriptor)
{
	const struct watch_key *key = hash_table_find(watch->by_descriptor, &descriptor);

	if (!key)
		return;
	(void)hash_table_remove(watch->by_file, key);
	(void)hash_table_remove(watch->by_descriptor, &descriptor);
}

static void forget_all(struct file_watch *watch)
{
	size_t cursor = 0;
	const void *key;

	while (hash_table_next(watch->by_descriptor, &cursor, &key, NULL))
		(void)inotify_rm_watch(watch->fd, *(const int *)key);
	hash_table_clear(watch->by_descriptor);
	hash_table_clear(watch->by_file);
}

static void apply_changes(struct file_watch *watch, const char *buffer, size_t size)
{
	struct inotify_event event;

	for (size_t at = 0; at + sizeof(event) <= size; at += sizeof(event) + event.len) {
		memcpy(&event, buffer + at, sizeof(event));
		if (event.mask & IN_Q_OVERFLOW)
			forget_all(watch);
		else
			forget_descriptor(watch, event.wd);
	}
}

static void read_changes(struct file_watch *watch)
{
	uint64_t now_ns = clock_monotonic_ns(&system_clock);
	char buffer[4096];
	ssize_t size;

	while ((size = read(watch->fd, buffer, sizeof(buffer))) > 0)
		apply_changes(watch, buffer, (size_t)size);
	watch->read_ns = now_ns;
}

/* ---- files --------------------------------------------------------------------------------- */

static void remove_entry(struct file_watch *watch, struct watch_key key, int descriptor)
{
	if (descriptor >= 0) {
		(void)inotify_rm_watch(watch->fd, descriptor);
		(void)hash_table_remove(watch->by_descriptor, &descriptor);
	}
	(void)hash_table_remove(watch->by_file, &key);
}

/* Evicts the file that was looked up longest ago. */
static void make_room(struct file_watch *watch)
{
	uint64_t oldest = UINT64_MAX;
	struct watch_key oldest_key = {};
	int descriptor = -1;
	size_t cursor = 0;
	const void *key;
	void *value;

	if (hash_table_count(watch->by_file) < watch->max_files)
		return;
	while (hash_table_next(watch->by_file, &cursor, &key, &value)) {
		const struct watch_entry *entry = value;

		if (entry->used >= oldest)
			continue;
		oldest = entry->used;
		oldest_key = *(const struct watch_key *)key;
		descriptor = entry->descriptor;
	}
	remove_entry(watch, oldest_key, descriptor);
}

static int insert(struct file_watch *watch, const struct reported_file *reported,
		  struct watch_entry entry)
{
	const struct watch_key key = key_of(reported);
	void *value;
	int r;

	make_room(watch);
	entry.used = ++watch->clock;
	r = hash_table_insert(watch->by_file, &key, &value);
	if (r < 0)
		return r;
	*(struct watch_entry *)value = entry;
	if (entry.descriptor < 0)
		return 0;
	r = hash_table_insert(watch->by_descriptor, &entry.descriptor, &value);
	if (r < 0) {
		(void)hash_table_remove(watch->by_file, &key);
		return r;
	}
	if (r == 0 && memcmp(value, &key, sizeof(key)) != 0)
		(void)hash_table_remove(watch->by_file, value);
	*(struct watch_key *)value = key;
	return 0;
}

bool file_watch_lacks(struct file_watch *watch, const struct reported_file *reported)
{
	return reported_file_is_unique(reported) && !find(watch, reported);
}

/* Without a generation, the same inode number may belong to another device. */
static bool is_certain(const struct reported_file *reported, const struct file_facts *facts)
{
	return facts->is_certain && facts->key.inode == reported->inode &&
	       ((facts->generation && facts->generation == reported->generation) ||
		facts->key.device == reported->device);
}

/* Whether @facts are still true of the file, and any later change would change its times. */
static bool is_unchanged(int fd, const struct file_facts *facts)
{
	uint64_t now_ns = clock_wall_ns(&system_clock);
	struct file_key key;
	struct stat status;

	if (fstat(fd, &status) < 0)
		return false;
	key = file_key_of(&status);
	return memcmp(&key, &facts->key, sizeof(key)) == 0 &&
	       file_changed_ns(&status) + MIN_AGE_NS < now_ns;
}

static int watch_descriptor(struct file_watch *watch, int fd)
{
	char path[32];
	int descriptor;

	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	descriptor = inotify_add_watch(watch->fd, path, WATCHED_CHANGES);
	return descriptor < 0 ? -errno : descriptor;
}

uint64_t file_watch_add(struct file_watch *watch, const struct reported_file *reported, int fd,
			const struct file_facts *facts)
{
	struct watch_entry entry = { .descriptor = -1, .is_trusted = facts->is_trusted };
	const struct watch_entry *known;

	if (!reported_file_is_unique(reported) || !is_certain(reported, facts))
		return 0;
	read_changes(watch);
	known = find(watch, reported);
	if (known)
		return known->ticket;
	if (facts->is_watchable)
		entry.descriptor = watch_descriptor(watch, fd);
	if (entry.descriptor >= 0)
		entry.ticket = ++watch->last_ticket;
	else
		entry.descriptor = -1;
	if (insert(watch, reported, entry) < 0) {
		(void)inotify_rm_watch(watch->fd, entry.descriptor);
		return 0;
	}
	/* Checked after the watch has begun, so that no change in between is missed. */
	if (entry.ticket && !is_unchanged(fd, facts)) {
		remove_entry(watch, key_of(reported), entry.descriptor);
		return 0;
	}
	return entry.ticket;
}

void file_watch_learned(struct file_watch *watch, const struct reported_file *reported,
			uint64_t ticket, uint32_t executable)
{
	struct watch_entry *entry = ticket ? find(watch, reported) : NULL;

	if (entry && entry->ticket == ticket)
		entry->executable = executable;
}

bool file_watch_find(struct file_watch *watch, const struct reported_file *reported,
		     struct watched_file *ret_file)
{
	const struct watch_entry *entry;

	if (!reported_file_is_unique(reported))
		return false;
	if (watch->read_ns <= reported->mapped_ns)
		read_changes(watch);
	entry = find(watch, reported);
	if (!entry || !entry->executable)
		return false;
	*ret_file = (struct watched_file){ .executable = entry->executable,
					   .is_trusted = entry->is_trusted };
	return true;
}
