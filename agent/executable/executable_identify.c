/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/executable/executable_cache_private.h"

#include <signal.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "common/clock.h"
#include "common/log.h"
#include "common/scoped.h"

/*
 * From a mapping to an executable, the cheap ways first: a file that was seen before needs no reading; else its notes
 * (or its code) are read once. What the kernel told when it was mapped decides whether a file is the one: by now
 * another one may be mapped there, or have its name.
 */

/* No file has it: the key is of what was told. */
#define TOLD_NOT_FOUND INT64_C(-1)

/* Of the kernel's coarse clock, where it ticks slowest. */
#define MAX_TICK_NS (10 * NSEC_PER_MSEC)

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
 * But a file that only root can write is better than one whose symbols somebody may have changed.
 */
static bool is_better_source(const struct executable *executable, const struct mapped_file *file, bool is_trusted)
{
	if (executable->source_pid == 0)
		return true;
	if (is_trusted != executable->source_is_trusted)
		return is_trusted;
	return executable->source_pid != file->pid && kill((pid_t)executable->source_pid, 0) != 0;
}

static int remember_source(struct executable *executable, const struct mapped_file *file, bool is_trusted)
{
	char *path;

	if (!is_better_source(executable, file, is_trusted))
		return 0;
	if (!executable->source_path || strcmp(executable->source_path, file->path) != 0) {
		path = strdup(file->path);
		if (!path)
			return -ENOMEM;
		free(executable->source_path);
		executable->source_path = path;
	}
	executable->source_is_trusted = is_trusted;
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
	struct stat status;
	bool is_certain; /* the mapped file itself, not just one of the same name */
	bool is_trusted;
};

static struct file_key key_of_told(const struct told_file *told)
{
	return (struct file_key){
		.device = told->device,
		.inode = told->inode,
		.mtime_s = (int64_t)told->generation,
		.mtime_ns = TOLD_NOT_FOUND,
		.size = TOLD_NOT_FOUND,
	};
}

/* By an event, not by /proc. */
static bool is_told(const struct told_file *told)
{
	return told->mapped_ns && told->inode;
}

/*
 * Enough was told to know the file again: overlay has no generations, and its inodes are used again as others are. A
 * file system on a disk may have some of 0, but not twice.
 */
static bool is_told_for_good(const struct told_file *told)
{
	return is_told(told) && (told->generation || major(told->device));
}

static bool is_told_inode(const struct told_file *told, const struct stat *status)
{
	return told->inode == 0 || told->inode == status->st_ino;
}

static bool is_told_generation(const struct told_file *told, int fd)
{
	uint64_t generation = file_generation(fd);

	return !is_told(told) || generation == 0 || told->generation == generation;
}

/*
 * Its contents, and what else an inode holds, are what they were when it was mapped: the inode's time of change is
 * before. That is of the kernel's coarse clock, which is up to a tick behind.
 */
static bool is_unchanged_since(const struct told_file *told, const struct stat *status, uint64_t slack_ns)
{
	/* In this order: who is pushed off the CPU in between takes the mapping for older than it is. */
	uint64_t now_wall_ns = clock_wall_ns(&system_clock);
	uint64_t now_ns = clock_monotonic_ns(&system_clock);
	uint64_t changed_ns = (uint64_t)status->st_ctim.tv_sec * NSEC_PER_SEC + (uint64_t)status->st_ctim.tv_nsec;
	uint64_t ago_ns = now_ns > told->mapped_ns ? now_ns - told->mapped_ns : 0;

	return changed_ns + slack_ns < now_wall_ns - MIN(ago_ns, now_wall_ns);
}

/* What is mapped there now, if it is what was told. */
static bool find_mapped(const struct mapped_file *file, struct found_file *ret_found)
{
	struct found_file found = { .is_certain = true };

	found.fd = open_mapped_file(file->pid, file->start, file->end, &found.status);
	if (found.fd < 0)
		return false;
	if (!is_told_inode(&file->told, &found.status) || !is_told_generation(&file->told, found.fd)) {
		(void)close(found.fd);
		return false;
	}
	*ret_found = found;
	return true;
}

/* Whether what has the name, in the process's root or another one, is what was told. */
static bool is_told_file(const struct told_file *told, const struct found_file *found, bool is_own_root)
{
	uint64_t generation = file_generation(found->fd);

	if (!is_told_inode(told, &found->status) || !is_told_generation(told, found->fd))
		return false;
	/* Inodes of another device, or used again: their generations say so, where they are known. */
	if (generation == 0 && !is_own_root && found->status.st_dev != told->device)
		return false;
	return is_unchanged_since(told, &found->status, generation == 0 ? MAX_TICK_NS : 0);
}

/* In the roots of others, as the process is gone: its parent's, which mostly is the same, and ours. */
static int open_elsewhere(const struct mapped_file *file, struct stat *ret_status)
{
	int fd = file->parent_pid ? open_in_root_of(file->parent_pid, file->path, ret_status) : -ESRCH;

	return fd >= 0 ? fd : open_on_host(file->path, ret_status);
}

/* By its name, which another file may have by now: if nothing more was told, or if it is what was told. */
static bool find_named(const struct mapped_file *file, struct found_file *ret_found)
{
	struct found_file found = { .is_certain = is_told(&file->told) };
	bool is_own_root = true;
	bool deleted;

	(void)path_length(file->path, &deleted);
	if (deleted)
		return false;
	found.fd = open_in_root_of(file->pid, file->path, &found.status);
	/* Of what was not told, our file of that name may be another container's. */
	if (found.fd < 0 && found.is_certain) {
		is_own_root = false;
		found.fd = open_elsewhere(file, &found.status);
	}
	if (found.fd < 0)
		return false;
	if (found.is_certain && !is_told_file(&file->told, &found, is_own_root)) {
		(void)close(found.fd);
		return false;
	}
	*ret_found = found;
	return true;
}

/* The executable was met in @file. 1 or -ENOMEM. */
static int use(struct executable_cache *cache, const struct mapped_file *file, bool is_trusted,
	       struct executable *executable, struct executable **ret_executable)
{
	int r;

	executable_cache_touch(cache, executable);
	r = remember_source(executable, file, is_trusted);
	if (r < 0)
		return r;
	*ret_executable = executable;
	return 1;
}

static void log_conflict(const struct executable *known, const struct mapped_file *file)
{
	char id[EXECUTABLE_ID_TEXT_SIZE];

	executable_id_format(&known->id, id);
	log_warn("'%s' of process %u has the build-ID %s of '%s', but other code: they are kept apart, and the one "
		 "that not only root can write is identified by its code; further cases are only counted",
		 file->path, file->pid, id, known->name);
}

/*
 * Another identity for the file of @found, whose build-ID is another content's: its code; and where even that is
 * another's, its whole content. 1, 0: the file cannot be read any more, or -ENOMEM.
 */
static int identity_of_own(struct executable_cache *cache, const struct found_file *found,
			   struct file_identity *identity)
{
	const struct executable *known;
	int r = file_text_identity_read(found->fd, &identity->id);

	if (r < 0)
		return r;
	known = r > 0 ? executable_cache_by_id(cache, &identity->id) : NULL;
	if (r == 0 || (known && !hash128_equal(&known->content, &identity->content)))
		r = executable_id_set(&identity->id, EXECUTABLE_ID_TEXT, identity->content.bytes,
				      sizeof(identity->content.bytes));
	return r < 0 ? r : 1;
}

/*
 * The executable with the content and build-ID of @identity, or NULL: there is none yet. Changes the ID of @identity
 * where that of the file is another content's, and takes it from the other where this file is the one to trust.
 */
static int find_same(struct executable_cache *cache, const struct mapped_file *file, const struct found_file *found,
		     struct file_identity *identity, struct executable **ret_executable)
{
	struct executable *known = executable_cache_by_id(cache, &identity->id);
	int r;

	*ret_executable = known;
	if (!known || hash128_equal(&known->content, &identity->content))
		return 1;
	if (executable_cache_count_conflict(cache))
		log_conflict(known, file);
	*ret_executable = NULL;
	if (found->is_trusted && !known->is_trusted) {
		executable_cache_supersede(cache, known);
		return 1;
	}
	r = identity_of_own(cache, found, identity);
	if (r <= 0)
		return r;
	known = executable_cache_by_id(cache, &identity->id);
	if (known && hash128_equal(&known->content, &identity->content))
		*ret_executable = known;
	else if (known)
		return 0;
	return 1;
}

static int find_or_add(struct executable_cache *cache, const struct mapped_file *file, const struct found_file *found,
		       struct file_identity *identity, struct executable **ret_executable)
{
	struct executable *executable;
	scoped_free char *name = NULL;
	int r;

	r = find_same(cache, file, found, identity, &executable);
	if (r <= 0)
		return r;
	if (!executable) {
		r = base_name(file->path, &name);
		if (r == 0)
			r = executable_cache_add(cache, &identity->id, EXECUTABLE_USER, name, identity,
						 &executable);
		if (r < 0)
			return r;
	}
	executable->is_trusted |= found->is_trusted;
	return use(cache, file, found->is_trusted, executable, ret_executable);
}

/* A file that is only found by name may be replaced between mapping and opening: it says nothing for others. */
static int remember(struct executable_cache *cache, const struct mapped_file *file, const struct found_file *found,
		    const struct executable *executable)
{
	uint64_t generation = file_generation(found->fd);
	struct file_key key = file_key_of(&found->status);
	int r = 0;

	if (found->is_certain)
		r = executable_cache_remember_file(cache, &key, generation ? generation : file->told.generation,
						   found->is_trusted, executable);
	if (r == 0 && is_told_for_good(&file->told)) {
		key = key_of_told(&file->told);
		r = executable_cache_remember_file(cache, &key, 0, found->is_trusted, executable);
	}
	return r;
}

static int identify_by_content(struct executable_cache *cache, const struct mapped_file *file,
			       const struct found_file *found, struct executable **ret_executable)
{
	scoped(file_identity_release) struct file_identity identity = {};
	int r;

	r = file_identity_read(found->fd, &identity);
	if (r <= 0)
		return r;
	r = find_or_add(cache, file, found, &identity, ret_executable);
	if (r <= 0)
		return r;
	r = remember(cache, file, found, *ret_executable);
	return r < 0 ? r : 1;
}

static int identify_by_file(struct executable_cache *cache, const struct mapped_file *file,
			    const struct found_file *found, struct executable **ret_executable)
{
	struct file_key key = file_key_of(&found->status);
	struct executable *executable;
	bool was_trusted;

	executable = executable_cache_by_file(cache, &key, file->told.generation, &was_trusted);
	if (executable)
		return use(cache, file, found->is_trusted, executable, ret_executable);
	return identify_by_content(cache, file, found, ret_executable);
}

/* What is mapped there; if nothing is any more, what has the name on the host, and is what was told. */
static bool find_state(const struct mapped_file *file, bool is_mapped, struct stat *status)
{
	uint64_t slack_ns = file->told.generation ? 0 : MAX_TICK_NS;

	if (is_mapped)
		return is_told_inode(&file->told, status);
	return is_told(&file->told) && stat(file->path, status) == 0 && is_told_inode(&file->told, status) &&
	       status->st_dev == file->told.device && is_unchanged_since(&file->told, status, slack_ns);
}

/* A file that was identified before, by its state alone: this is what most mappings of short processes are. */
static int identify_by_state(struct executable_cache *cache, const struct mapped_file *file, bool is_mapped,
			     struct stat *status, struct executable **ret_executable)
{
	struct executable *executable;
	struct file_key key;
	bool is_trusted;

	if (!find_state(file, is_mapped, status))
		return 0;
	key = file_key_of(status);
	executable = executable_cache_by_file(cache, &key, file->told.generation, &is_trusted);
	return executable ? use(cache, file, is_trusted, executable, ret_executable) : 0;
}

/* The process is gone, or has something else there by now. */
static int identify_by_what_was_told(struct executable_cache *cache, const struct mapped_file *file,
				     struct executable **ret_executable)
{
	struct file_key key = key_of_told(&file->told);
	struct executable *executable = NULL;
	bool is_trusted = false;

	if (is_told_for_good(&file->told))
		executable = executable_cache_by_file(cache, &key, 0, &is_trusted);
	return executable ? use(cache, file, is_trusted, executable, ret_executable) : 0;
}

int executable_cache_identify(struct executable_cache *cache, const struct mapped_file *file,
			      struct executable **ret_executable)
{
	struct found_file found;
	struct stat status;
	bool is_mapped;
	int r;

	if (!has_file(file))
		return 0;
	is_mapped = stat_mapped_file(file->pid, file->start, file->end, &status) == 0;
	r = identify_by_state(cache, file, is_mapped, &status, ret_executable);
	if (r != 0)
		return r;
	if (!(is_mapped && find_mapped(file, &found)) && !find_named(file, &found))
		return identify_by_what_was_told(cache, file, ret_executable);
	found.is_trusted = file_is_trusted(found.fd, &found.status);
	r = identify_by_file(cache, file, &found, ret_executable);
	(void)close(found.fd);
	return r;
}

int executable_cache_identify_vdso(struct executable_cache *cache, uint32_t pid, uint64_t start,
				   uint64_t end, struct executable **ret_executable)
{
	scoped(file_identity_release) struct file_identity identity = {};
	struct executable *executable = NULL;
	scoped_fd int fd = -1;
	int r;

	/* The kernel has one for all 64-bit processes; that of a 32-bit one lies below 4 GiB. */
	if (start > UINT32_MAX)
		executable = executable_cache_known_vdso(cache, end - start);
	if (executable) {
		executable_cache_touch(cache, executable);
		*ret_executable = executable;
		return 1;
	}
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
		r = executable_cache_add(cache, &identity.id, EXECUTABLE_VDSO, "[vdso]", &identity,
					 &executable);
		if (r < 0)
			return r;
		executable->source_end = end - start;
	}
	if (start > UINT32_MAX)
		executable_cache_set_vdso(cache, executable, end - start);
	executable_cache_touch(cache, executable);
	*ret_executable = executable;
	return 1;
}
