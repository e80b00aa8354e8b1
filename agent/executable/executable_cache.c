/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/executable/executable.h"

#include <signal.h>
#include <string.h>

#include "agent/executable/executable_file.h"
#include "agent/executable/kernel_layout.h"
#include "common/hash_table.h"
#include "common/scoped.h"

/*
 * Three indices: number -> entry (owns the entries), identity -> entry, and file -> number. Many
 * files may be one executable (copies in container images); the file index holds numbers, which are
 * never reused, so that a forgotten executable leaves at worst a number there that finds nothing.
 * Entries without references hang in a list, the least recently used first.
 */

/* Files remembered per executable, on average. */
#define FILES_PER_ITEM 4

struct cached_executable {
	struct executable executable;            /* first: the two pointers are the same */
	struct cached_executable *older, *newer; /* among those without references */
	bool is_idle;
};

static_assert(offsetof(struct cached_executable, executable) == 0, "see as_cached()");

/* No padding: it is a hash key. */
struct file_key {
	uint64_t device, inode;
	int64_t mtime_s, mtime_ns;
	int64_t size;
};

struct executable_cache {
	size_t max_items;
	uint32_t last_number;
	struct hash_table *by_number; /* uint32_t -> struct cached_executable * */
	struct hash_table *by_id;     /* struct executable_id -> struct cached_executable * */
	struct hash_table *by_file;   /* struct file_key -> uint32_t number */
	struct cached_executable *oldest_idle, *newest_idle;
};

static struct cached_executable *as_cached(struct executable *executable)
{
	return (struct cached_executable *)executable;
}

static void idle_remove(struct executable_cache *cache, struct cached_executable *entry)
{
	if (!entry->is_idle)
		return;
	if (entry->older)
		entry->older->newer = entry->newer;
	else
		cache->oldest_idle = entry->newer;
	if (entry->newer)
		entry->newer->older = entry->older;
	else
		cache->newest_idle = entry->older;
	entry->older = entry->newer = NULL;
	entry->is_idle = false;
}

static void idle_append(struct executable_cache *cache, struct cached_executable *entry)
{
	entry->older = cache->newest_idle;
	entry->newer = NULL;
	if (cache->newest_idle)
		cache->newest_idle->newer = entry;
	else
		cache->oldest_idle = entry;
	cache->newest_idle = entry;
	entry->is_idle = true;
}

static void touch(struct executable_cache *cache, struct cached_executable *entry)
{
	if (!entry->is_idle)
		return;
	idle_remove(cache, entry);
	idle_append(cache, entry);
}

static void entry_free(struct cached_executable *entry)
{
	free(entry->executable.name);
	free(entry->executable.segments);
	free(entry->executable.source_path);
	free(entry);
}

int executable_cache_new(size_t max_items, struct executable_cache **ret_cache)
{
	scoped(executable_cache_freep) struct executable_cache *cache = calloc(1, sizeof(*cache));
	int r;

	if (!cache)
		return -ENOMEM;
	cache->max_items = max_items;
	r = hash_table_new(sizeof(uint32_t), sizeof(struct cached_executable *), 0,
			   &cache->by_number);
	if (r == 0)
		r = hash_table_new(sizeof(struct executable_id), sizeof(struct cached_executable *),
				   0, &cache->by_id);
	if (r == 0)
		r = hash_table_new(sizeof(struct file_key), sizeof(uint32_t),
				   max_items * FILES_PER_ITEM, &cache->by_file);
	if (r < 0)
		return r;
	*ret_cache = take_ptr(cache);
	return 0;
}

struct executable_cache *executable_cache_free(struct executable_cache *cache)
{
	size_t cursor = 0;
	const void *key;
	void *value;

	if (!cache)
		return NULL;
	while (cache->by_number && hash_table_next(cache->by_number, &cursor, &key, &value))
		entry_free(*(struct cached_executable **)value);
	(void)hash_table_free(cache->by_number);
	(void)hash_table_free(cache->by_id);
	(void)hash_table_free(cache->by_file);
	free(cache);
	return NULL;
}

static void forget(struct executable_cache *cache, struct cached_executable *entry)
{
	idle_remove(cache, entry);
	(void)hash_table_remove(cache->by_id, &entry->executable.id);
	(void)hash_table_remove(cache->by_number, &entry->executable.number);
	entry_free(entry);
}

/* The newest one stays in any case: its caller holds it. Those referenced since they came here
 * leave the list now. */
static void forget_least_used(struct executable_cache *cache)
{
	while (hash_table_count(cache->by_number) > cache->max_items && cache->oldest_idle) {
		struct cached_executable *entry = cache->oldest_idle;

		if (entry->executable.references > 0)
			idle_remove(cache, entry);
		else if (entry == cache->newest_idle)
			break;
		else
			forget(cache, entry);
	}
}

struct executable *executable_cache_by_number(struct executable_cache *cache, uint32_t number)
{
	struct cached_executable **found = hash_table_find(cache->by_number, &number);

	return found ? &(*found)->executable : NULL;
}

struct executable *executable_cache_by_id(struct executable_cache *cache,
					  const struct executable_id *id)
{
	struct cached_executable **found;

	if (id->kind == EXECUTABLE_ID_NONE)
		return NULL;
	found = hash_table_find(cache->by_id, id);
	return found ? &(*found)->executable : NULL;
}

size_t executable_cache_count(const struct executable_cache *cache)
{
	return hash_table_count(cache->by_number);
}

void executable_ref(struct executable *executable)
{
	executable->references++;
}

void executable_unref(struct executable_cache *cache, struct executable *executable)
{
	assert(executable->references > 0);
	if (--executable->references == 0) {
		idle_remove(cache, as_cached(executable));
		idle_append(cache, as_cached(executable));
		forget_least_used(cache);
	}
}

/* Files whose executable has left the cache make room; if none has, all do: they are only found
 * again more slowly. */
static void sweep_files(struct executable_cache *cache)
{
	size_t before = hash_table_count(cache->by_file);
	size_t cursor = 0;
	const void *key;
	void *value;

	while (hash_table_next(cache->by_file, &cursor, &key, &value))
		if (!executable_cache_by_number(cache, *(uint32_t *)value))
			hash_table_remove_at_cursor(cache->by_file, &cursor);
	if (hash_table_count(cache->by_file) == before)
		hash_table_clear(cache->by_file);
}

static int remember_file(struct executable_cache *cache, const struct file_key *key,
			 const struct executable *executable)
{
	void *value;
	int r;

	r = hash_table_insert(cache->by_file, key, &value);
	if (r == -ENOSPC) {
		sweep_files(cache);
		r = hash_table_insert(cache->by_file, key, &value);
	}
	if (r < 0)
		return r;
	*(uint32_t *)value = executable->number;
	return 0;
}

static int index_entry(struct executable_cache *cache, struct cached_executable *entry)
{
	struct cached_executable **value;
	int r;

	r = hash_table_insert(cache->by_number, &entry->executable.number, (void **)&value);
	if (r < 0)
		return r;
	*value = entry;
	if (entry->executable.id.kind == EXECUTABLE_ID_NONE)
		return 0;
	r = hash_table_insert(cache->by_id, &entry->executable.id, (void **)&value);
	if (r < 0) {
		(void)hash_table_remove(cache->by_number, &entry->executable.number);
		return r;
	}
	*value = entry;
	return 0;
}

/* A new entry without references. The segments of @identity are taken. */
static int add(struct executable_cache *cache, const struct executable_id *id,
	       enum executable_role role, const char *name, struct file_identity *identity,
	       struct executable **ret_executable)
{
	struct cached_executable *entry = calloc(1, sizeof(*entry));
	struct executable *executable = &entry->executable;
	int r = -ENOMEM;

	if (!entry)
		return -ENOMEM;
	executable->number = cache->last_number + 1;
	executable->role = role;
	executable->id = *id;
	executable->name = strdup(name);
	if (executable->name)
		r = index_entry(cache, entry);
	if (r < 0) {
		entry_free(entry);
		return r;
	}
	cache->last_number++;
	if (identity) {
		executable->segments = take_ptr(identity->segments);
		executable->n_segments = identity->n_segments;
	}
	idle_append(cache, entry);
	forget_least_used(cache);
	*ret_executable = executable;
	return 0;
}

static struct file_key file_key_of(const struct stat *status)
{
	return (struct file_key){
		.device = status->st_dev,
		.inode = status->st_ino,
		.mtime_s = status->st_mtim.tv_sec,
		.mtime_ns = status->st_mtim.tv_nsec,
		.size = status->st_size,
	};
}

/* Length of @path without what the kernel appends to the names of deleted files. */
static size_t path_length(const char *path, bool *ret_deleted)
{
	static const char suffix[] = " (deleted)";
	size_t length = strlen(path);

	*ret_deleted =
		length > strlen(suffix) && strcmp(path + length - strlen(suffix), suffix) == 0;
	return *ret_deleted ? length - strlen(suffix) : length;
}

static int base_name(const char *path, char **ret_name)
{
	bool deleted;
	size_t length = path_length(path, &deleted);
	const char *slash = memrchr(path, '/', length);
	const char *start = slash ? slash + 1 : path;

	*ret_name = strndup(start, length - (size_t)(start - path));
	return *ret_name ? 0 : -ENOMEM;
}

/*
 * The process it was last seen in is where an upload reads it from. One that still lives is kept:
 * of two processes the one seen earlier is no worse, and most of those that come later are short.
 */
static int remember_source(struct executable *executable, const struct mapped_file *file)
{
	char *path;

	if (executable->source_pid != 0 &&
	    (executable->source_pid == file->pid || kill((pid_t)executable->source_pid, 0) == 0))
		return 0;
	if (!executable->source_path || strcmp(executable->source_path, file->path) != 0) {
		path = strdup(file->path);
		if (!path)
			return -ENOMEM;
		free(executable->source_path);
		executable->source_path = path;
	}
	executable->source_pid = file->pid;
	executable->source_start = file->start;
	executable->source_end = file->end;
	return 0;
}

/* Anonymous memory, heap, stack and the like have no file: "//anon", "[heap]", "anon_inode:...". */
static bool has_file(const struct mapped_file *file)
{
	return file->path && file->path[0] == '/' && file->path[1] != '/' && file->path[1] != '\0';
}

struct found_file {
	int fd;
	struct file_key key;
	bool is_certain; /* the mapped file itself, not just one of the same name */
};

static bool find_file(const struct mapped_file *file, struct found_file *ret_found)
{
	struct stat status;
	bool deleted;
	int fd;

	(void)path_length(file->path, &deleted);
	ret_found->is_certain = true;
	fd = open_mapped_file(file->pid, file->start, file->end, &status);
	if (fd < 0 && !deleted) {
		ret_found->is_certain = false;
		fd = open_in_root_of(file->pid, file->path, &status);
	}
	/* Without an identity to compare, our file of that name may be another container's. */
	if (fd < 0 && !deleted && file->known_id.kind != EXECUTABLE_ID_NONE)
		fd = open_on_host(file->path, &status);
	if (fd < 0)
		return false;
	ret_found->fd = fd;
	ret_found->key = file_key_of(&status);
	return true;
}

/* Takes the segments into an executable that was known by its identity only: its definition must be
 * sent again. */
static void complete(struct executable *executable, struct file_identity *identity)
{
	if (executable->n_segments > 0 || identity->n_segments == 0)
		return;
	free(executable->segments);
	executable->segments = take_ptr(identity->segments);
	executable->n_segments = identity->n_segments;
	executable->first_sent_sequence = 0;
}

static int find_or_add(struct executable_cache *cache, const struct mapped_file *file,
		       const struct executable_id *id, struct file_identity *identity,
		       struct executable **ret_executable)
{
	struct executable *executable = executable_cache_by_id(cache, id);
	scoped_free char *name = NULL;
	int r;

	if (!executable) {
		r = base_name(file->path, &name);
		if (r == 0)
			r = add(cache, id, EXECUTABLE_USER, name, identity, &executable);
		if (r < 0)
			return r;
	} else if (identity) {
		complete(executable, identity);
	}
	touch(cache, as_cached(executable));
	r = remember_source(executable, file);
	if (r < 0)
		return r;
	*ret_executable = executable;
	return 1;
}

static int identify_by_content(struct executable_cache *cache, const struct mapped_file *file,
			       const struct found_file *found, struct executable **ret_executable)
{
	scoped(file_identity_release) struct file_identity identity = {};
	int r;

	r = file_identity_read(found->fd, &identity);
	if (r <= 0)
		return r;
	if (file->known_id.kind != EXECUTABLE_ID_NONE &&
	    !executable_id_equal(&identity.id, &file->known_id))
		return 0;
	r = find_or_add(cache, file, &identity.id, &identity, ret_executable);
	if (r < 0)
		return r;
	/* A file that is only found by name may be replaced between mapping and opening: it says
	 * nothing for others. */
	if (found->is_certain || file->known_id.kind != EXECUTABLE_ID_NONE)
		r = remember_file(cache, &found->key, *ret_executable);
	return r < 0 ? r : 1;
}

static int identify_by_file(struct executable_cache *cache, const struct mapped_file *file,
			    struct executable **ret_executable)
{
	struct found_file found = { .fd = -1 };
	struct executable *executable = NULL;
	const uint32_t *number;
	int r;

	if (!find_file(file, &found))
		return 0;
	number = hash_table_find(cache->by_file, &found.key);
	if (number)
		executable = executable_cache_by_number(cache, *number);
	if (executable && executable->n_segments > 0 &&
	    (file->known_id.kind == EXECUTABLE_ID_NONE ||
	     executable_id_equal(&file->known_id, &executable->id)))
		r = find_or_add(cache, file, &executable->id, NULL, ret_executable);
	else
		r = identify_by_content(cache, file, &found, ret_executable);
	(void)close(found.fd);
	return r;
}

int executable_cache_identify(struct executable_cache *cache, const struct mapped_file *file,
			      struct executable **ret_executable)
{
	struct executable *known = executable_cache_by_id(cache, &file->known_id);
	int r;

	if (!has_file(file))
		return 0;
	if (known && known->n_segments > 0)
		return find_or_add(cache, file, &known->id, NULL, ret_executable);
	r = identify_by_file(cache, file, ret_executable);
	if (r != 0 || file->known_id.kind == EXECUTABLE_ID_NONE)
		return r;
	return find_or_add(cache, file, &file->known_id, NULL, ret_executable);
}

int executable_cache_identify_vdso(struct executable_cache *cache, uint32_t pid, uint64_t start,
				   uint64_t end, struct executable **ret_executable)
{
	scoped(file_identity_release) struct file_identity identity = {};
	struct executable *executable;
	scoped_fd int fd = -1;
	int r;

	fd = open_vdso(pid, start, end);
	if (fd < 0 && fd != -ENOMEM)
		fd = open_vdso(0, start, end);
	if (fd < 0)
		return fd == -ENOMEM ? fd : 0;
	r = file_identity_read(fd, &identity);
	if (r <= 0)
		return r;

	executable = executable_cache_by_id(cache, &identity.id);
	if (!executable) {
		r = add(cache, &identity.id, EXECUTABLE_VDSO, "[vdso]", &identity, &executable);
		if (r < 0)
			return r;
		executable->source_end = end - start;
	}
	touch(cache, as_cached(executable));
	*ret_executable = executable;
	return 1;
}

/* Stays for good: kernel code is never unmapped by a process's end. */
static int add_kernel_part(struct executable_cache *cache, const struct executable_id *id,
			   enum executable_role role, const char *name)
{
	struct executable *executable = executable_cache_by_id(cache, id);
	int r;

	if (executable)
		return 0;
	r = add(cache, id, role, name, NULL, &executable);
	if (r < 0)
		return r;
	executable_ref(executable);
	idle_remove(cache, as_cached(executable));
	return 0;
}

int executable_cache_add_kernel(struct executable_cache *cache, const struct kernel_layout *layout)
{
	int r = 0;

	if (!executable_cache_by_number(cache, KERNEL_EXECUTABLE_NUMBER)) {
		assert(cache->last_number + 1 == KERNEL_EXECUTABLE_NUMBER);
		r = add_kernel_part(cache, &layout->id, EXECUTABLE_KERNEL, "[kernel]");
	}
	for (size_t i = 0; r == 0 && i < layout->n_modules; i++) {
		const struct kernel_module *module = &layout->modules[i];

		if (module->id.kind != EXECUTABLE_ID_NONE)
			r = add_kernel_part(cache, &module->id, EXECUTABLE_KERNEL_MODULE,
					    module->name);
	}
	return r;
}

void executable_cache_forget_sendings(struct executable_cache *cache, uint64_t acknowledged_sequence)
{
	size_t cursor = 0;
	void *value;

	while (hash_table_next(cache->by_number, &cursor, NULL, &value)) {
		struct executable *executable = &(*(struct cached_executable **)value)->executable;

		if (executable->first_sent_sequence > acknowledged_sequence)
			executable->first_sent_sequence = 0;
	}
}
