/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/executable/executable_cache_private.h"

#include <signal.h>
#include <string.h>

#include "common/scoped.h"

/*
 * From a mapping to an executable, the cheap ways first: an identity that is told and known needs
 * no file; a file that was seen before needs no reading; else its notes (or its code) are read
 * once.
 */

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
			r = executable_cache_add(cache, id, EXECUTABLE_USER, name, identity,
						 &executable);
		if (r < 0)
			return r;
	} else if (identity) {
		complete(executable, identity);
	}
	executable_cache_touch(cache, executable);
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
		r = executable_cache_remember_file(cache, &found->key, *ret_executable);
	return r < 0 ? r : 1;
}

static int identify_by_file(struct executable_cache *cache, const struct mapped_file *file,
			    struct executable **ret_executable)
{
	struct found_file found = { .fd = -1 };
	struct executable *executable;
	int r;

	if (!find_file(file, &found))
		return 0;
	executable = executable_cache_by_file(cache, &found.key);
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
