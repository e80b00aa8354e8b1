/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/executable/executable_cache_private.h"

#include <signal.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "common/clock.h"
#include "common/log.h"
#include "common/scoped.h"

/*
 * From a mapping to an executable, the cheap ways first: a file that was seen before needs no
 * reading; else its notes (or its code) are read once. What the kernel told when it was mapped
 * decides whether a file is the one: by now another one may be mapped there, or have its name.
 */

/* No file has it: the key is of what was told. */
#define TOLD_NOT_FOUND INT64_C(-1)

/*
 * Least time between two checks: the file of a program that lives for milliseconds is mapped
 * hundreds of times a second.
 */
#define LOOK_AT_SOURCE_EVERY_NS NSEC_PER_SEC

static int base_name(const char *path, char **ret_name)
{
	bool deleted;
	size_t length = mapped_path_length(path, &deleted);
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
static bool is_better_source(struct executable *executable, const struct mapped_file *file,
			     bool is_trusted)
{
	uint64_t now_ns;

	if (executable->source_pid == 0)
		return true;
	if (is_trusted != executable->source_is_trusted)
		return is_trusted;
	if (executable->source_pid == file->pid)
		return false;
	now_ns = clock_monotonic_ns(&system_clock);
	if (executable->source_looked_ns != 0 &&
	    now_ns < executable->source_looked_ns + LOOK_AT_SOURCE_EVERY_NS)
		return false;
	executable->source_looked_ns = now_ns;
	return kill((pid_t)executable->source_pid, 0) != 0;
}

static int remember_source(struct executable *executable, const struct mapped_file *file,
			   bool is_trusted)
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

/*
 * Enough was told to know the file again: overlay has no generations, and its inodes are used again
 * as others are. A file system on a disk may have some of 0, but not twice.
 */
static bool is_told_for_good(const struct told_file *told)
{
	return told_file_is_told(told) && (told->generation || major(told->device));
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
	log_warn(
		"'%s' of process %u has the build-ID %s of '%s', but other code: they are kept apart, and the one "
		"that not only root can write is identified by its code; further cases are only counted",
		file->path, file->pid, id, known->name);
}

/*
 * Another identity for a file with the build-ID of a different content: the hash of its code
 * (@text_id, of kind NONE if it cannot be read); and if a different content has that too, the hash
 * of its whole content.
 */
static int identity_of_own(struct executable_cache *cache, const struct executable_id *text_id,
			   struct file_identity *identity)
{
	const struct executable *known = executable_cache_by_id(cache, text_id);

	if (text_id->kind == EXECUTABLE_ID_NONE ||
	    (known && !hash128_equal(&known->content, &identity->content)))
		return executable_id_set(&identity->id, EXECUTABLE_ID_TEXT, identity->content.bytes,
					 sizeof(identity->content.bytes));
	identity->id = *text_id;
	return 0;
}

/*
 * The executable with the content and build-ID of @identity, or NULL: there is none yet. Changes
 * the ID of @identity where that of the file is another content's, and takes it from the other
 * where this file is the one to trust.
 */
static int find_same(struct executable_cache *cache, const struct found_content *found,
		     struct file_identity *identity, struct executable **ret_executable)
{
	struct executable *known = executable_cache_by_id(cache, &identity->id);
	bool takes_it;
	int r;

	*ret_executable = known;
	if (!known || hash128_equal(&known->content, &identity->content))
		return 1;
	takes_it = found->facts->is_trusted && !known->is_trusted;
	if (!takes_it && !found->text_id)
		return -EAGAIN;
	if (executable_cache_count_conflict(cache))
		log_conflict(known, found->file);
	*ret_executable = NULL;
	if (takes_it) {
		executable_cache_supersede(cache, known);
		return 1;
	}
	r = identity_of_own(cache, found->text_id, identity);
	if (r < 0)
		return r;
	known = executable_cache_by_id(cache, &identity->id);
	if (known && hash128_equal(&known->content, &identity->content))
		*ret_executable = known;
	else if (known)
		return 0;
	return 1;
}

static int find_or_add(struct executable_cache *cache, const struct found_content *found,
		       struct file_identity *identity, struct executable **ret_executable)
{
	struct executable *executable;
	scoped_free char *name = NULL;
	int r;

	r = find_same(cache, found, identity, &executable);
	if (r <= 0)
		return r;
	if (!executable) {
		r = base_name(found->file->path, &name);
		if (r == 0)
			r = executable_cache_add(cache, &identity->id, EXECUTABLE_USER, name,
						 identity, &executable);
		if (r < 0)
			return r;
	}
	executable->is_trusted |= found->facts->is_trusted;
	return use(cache, found->file, found->facts->is_trusted, executable, ret_executable);
}

/*
 * A file that is only found by name may be replaced between mapping and opening: it says nothing
 * for others.
 */
static int remember(struct executable_cache *cache, const struct mapped_file *file,
		    const struct file_facts *facts, const struct executable *executable)
{
	struct file_key key;
	int r = 0;

	if (facts->is_certain)
		r = executable_cache_remember_file(cache, &facts->key,
						   facts->generation ? facts->generation
								     : file->told.generation,
						   facts->is_trusted, executable);
	if (r == 0 && is_told_for_good(&file->told)) {
		key = key_of_told(&file->told);
		r = executable_cache_remember_file(cache, &key, 0, facts->is_trusted, executable);
	}
	return r;
}

int executable_cache_learn(struct executable_cache *cache, const struct found_content *found,
			   struct file_identity *identity, struct executable **ret_executable)
{
	int r;

	r = find_or_add(cache, found, identity, ret_executable);
	if (r <= 0)
		return r;
	r = remember(cache, found->file, found->facts, *ret_executable);
	return r < 0 ? r : 1;
}

int executable_cache_find_known(struct executable_cache *cache, const struct mapped_file *file,
				const struct file_facts *facts, struct executable **ret_executable)
{
	struct executable *executable;
	bool is_trusted;

	executable =
		executable_cache_by_file(cache, &facts->key, file->told.generation, &is_trusted);
	return executable ? use(cache, file, is_trusted, executable, ret_executable) : 0;
}

int executable_cache_find_told(struct executable_cache *cache, const struct mapped_file *file,
			       struct executable **ret_executable)
{
	struct file_key key = key_of_told(&file->told);
	struct executable *executable = NULL;
	bool is_trusted = false;

	if (is_told_for_good(&file->told))
		executable = executable_cache_by_file(cache, &key, 0, &is_trusted);
	return executable ? use(cache, file, is_trusted, executable, ret_executable) : 0;
}

int executable_cache_find_unchanged(struct executable_cache *cache, const struct mapped_file *file,
				    const struct watched_file *watched,
				    struct executable **ret_executable)
{
	struct executable *executable = executable_cache_by_number(cache, watched->executable);

	return executable && !executable->is_superseded
		       ? use(cache, file, watched->is_trusted, executable, ret_executable)
		       : 0;
}

static int identify_by_content(struct executable_cache *cache, struct found_content *found, int fd,
			       struct executable **ret_executable)
{
	scoped(file_identity_release) struct file_identity identity = {};
	struct executable_id text_id = {};
	int r;

	r = file_identity_read(fd, &identity);
	if (r <= 0)
		return r;
	r = executable_cache_learn(cache, found, &identity, ret_executable);
	if (r != -EAGAIN)
		return r;
	r = file_text_identity_read(fd, &text_id);
	if (r < 0)
		return r;
	found->text_id = &text_id;
	return executable_cache_learn(cache, found, &identity, ret_executable);
}

int executable_cache_identify(struct executable_cache *cache, const struct mapped_file *file,
			      struct executable **ret_executable)
{
	struct file_facts facts;
	struct found_content found = { .file = file, .facts = &facts };
	scoped_fd int fd = -1;
	int r;

	if (!mapped_file_has_path(file))
		return 0;
	r = file_finder_look(file, &facts) == 1
		    ? executable_cache_find_known(cache, file, &facts, ret_executable)
		    : 0;
	if (r != 0)
		return r;
	fd = file_finder_open(file, &facts);
	if (fd < 0 && file->is_copy)
		return EXECUTABLE_UNAVAILABLE;
	if (fd < 0)
		return executable_cache_find_told(cache, file, ret_executable);
	r = executable_cache_find_known(cache, file, &facts, ret_executable);
	return r != 0 ? r : identify_by_content(cache, &found, fd, ret_executable);
}

int executable_cache_identify_vdso(struct executable_cache *cache, uint64_t start, uint64_t end,
				   struct executable **ret_executable)
{
	scoped(file_identity_release) struct file_identity identity = {};
	struct executable *executable = NULL;
	scoped_fd int fd = -1;
	int r;

	/* The kernel has one for all 64-bit processes; that of a 32-bit one lies below 4 GiB. */
	if (start <= UINT32_MAX || end <= start)
		return 0;
	executable = executable_cache_known_vdso(cache, end - start);
	if (executable) {
		executable_cache_touch(cache, executable);
		*ret_executable = executable;
		return 1;
	}
	/* All 64-bit processes have the same one, so that the memory of others need not be read. */
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
	executable_cache_set_vdso(cache, executable, end - start);
	executable_cache_touch(cache, executable);
	*ret_executable = executable;
	return 1;
}
