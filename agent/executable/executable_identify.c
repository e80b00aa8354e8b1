/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the executable of a mapping, cheapest method first: a known file is not read; otherwise its
 * notes (or its code) are read once. The kernel's report of the mapping decides whether a file is
 * the mapped one, because by now another file may be mapped at that address, or have that path.
 */
#include "agent/executable/executable_cache_private.h"

#include <signal.h>
#include <string.h>

#include "common/clock.h"
#include "common/log.h"
#include "common/scoped.h"

/* Marks a key that was made from a report. No file has this size or these nanoseconds. */
#define KEY_IS_REPORTED INT64_C(-1)

/*
 * Least time between two checks whether the source process is alive. The file of a program that
 * runs for milliseconds may be mapped hundreds of times a second.
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
 * Whether uploads should read the file from the process of @file from now on. A source process that
 * is alive is kept, because most processes that map the file later are short-lived. But a file that
 * only root can write replaces one that others may have changed.
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

static int set_source(struct executable *executable, const struct mapped_file *file,
		      bool is_trusted)
{
	char *path;

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

static struct file_key key_of_report(const struct reported_file *reported)
{
	return (struct file_key){
		.device = reported->device,
		.inode = reported->inode,
		.mtime_s = (int64_t)reported->generation,
		.mtime_ns = KEY_IS_REPORTED,
		.size = KEY_IS_REPORTED,
	};
}

/* Updates an executable that was found in @file. 1 or -ENOMEM. */
static int record_use(struct executable_cache *cache, const struct mapped_file *file,
		      bool is_trusted, struct executable *executable,
		      struct executable **ret_executable)
{
	int r;

	executable_cache_touch(cache, executable);
	if (is_better_source(executable, file, is_trusted)) {
		r = set_source(executable, file, is_trusted);
		if (r < 0)
			return r;
	}
	*ret_executable = executable;
	return 1;
}

static void log_conflict(const struct executable *known, const struct mapped_file *file)
{
	char id[EXECUTABLE_ID_TEXT_SIZE];

	executable_id_format(&known->id, id);
	log_warn("'%s' of process %u has the build-ID %s of '%s' but different code: Hearth keeps "
		 "them apart and identifies the one that others than root can write by its code; "
		 "further conflicts are only counted",
		 file->path, file->pid, id, known->name);
}

/*
 * Sets another identity for a file with the build-ID of a different content: the hash of its code
 * (@text_id, of kind NONE if it cannot be read); or the hash of its whole content, if a different
 * content has that code hash too.
 */
static int set_unique_identity(struct executable_cache *cache, const struct executable_id *text_id,
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
 * Finds the executable with the content and build-ID of @identity. NULL: there is none yet. If
 * another content has that build-ID, either sets another ID in @identity, or takes the build-ID
 * away from the other content if only this file is trusted.
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
	r = set_unique_identity(cache, found->text_id, identity);
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
		if (r < 0)
			return r;
		r = executable_cache_add(cache, &identity->id, EXECUTABLE_USER, name, identity,
					 &executable);
		if (r < 0)
			return r;
	}
	executable->is_trusted |= found->facts->is_trusted;
	return record_use(cache, found->file, found->facts->is_trusted, executable, ret_executable);
}

/*
 * Remembers in which file the executable was found. A file found only by its path may have been
 * replaced between mapping and opening, so its key is not remembered.
 */
static int remember(struct executable_cache *cache, const struct mapped_file *file,
		    const struct file_facts *facts, const struct executable *executable)
{
	uint64_t generation = facts->generation ? facts->generation : file->reported.generation;
	struct file_key key;
	int r;

	if (facts->is_certain) {
		r = executable_cache_remember_file(cache, &facts->key, generation,
						   facts->is_trusted, executable);
		if (r < 0)
			return r;
	}
	if (!reported_file_is_unique(&file->reported))
		return 0;
	key = key_of_report(&file->reported);
	return executable_cache_remember_file(cache, &key, 0, facts->is_trusted, executable);
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

	executable = executable_cache_by_file(cache, &facts->key, file->reported.generation,
					      &is_trusted);
	return executable ? record_use(cache, file, is_trusted, executable, ret_executable) : 0;
}

int executable_cache_find_reported(struct executable_cache *cache, const struct mapped_file *file,
				   struct executable **ret_executable)
{
	struct file_key key = key_of_report(&file->reported);
	struct executable *executable = NULL;
	bool is_trusted = false;

	if (reported_file_is_unique(&file->reported))
		executable = executable_cache_by_file(cache, &key, 0, &is_trusted);
	return executable ? record_use(cache, file, is_trusted, executable, ret_executable) : 0;
}

int executable_cache_replace_source(struct executable_cache *cache, struct executable *executable,
				    const struct mapped_file *file)
{
	struct file_key key = key_of_report(&file->reported);
	bool is_trusted = false;

	if (!reported_file_is_unique(&file->reported) ||
	    executable_cache_by_file(cache, &key, 0, &is_trusted) != executable)
		is_trusted = false;
	return set_source(executable, file, is_trusted);
}

int executable_cache_find_unchanged(struct executable_cache *cache, const struct mapped_file *file,
				    const struct watched_file *watched,
				    struct executable **ret_executable)
{
	struct executable *executable = executable_cache_by_number(cache, watched->executable);

	return executable && !executable->is_superseded
		       ? record_use(cache, file, watched->is_trusted, executable, ret_executable)
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
	if (file_finder_look(file, &facts) == 1) {
		r = executable_cache_find_known(cache, file, &facts, ret_executable);
		if (r != 0)
			return r;
	}
	fd = file_finder_open(file, &facts);
	if (fd < 0 && file->is_copy)
		return EXECUTABLE_UNAVAILABLE;
	if (fd < 0)
		return executable_cache_find_reported(cache, file, ret_executable);
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

	/* The vDSO of a 32-bit process lies below 4 GiB. */
	if (start <= UINT32_MAX || end <= start)
		return 0;
	executable = executable_cache_known_vdso(cache, end - start);
	if (executable) {
		executable_cache_touch(cache, executable);
		*ret_executable = executable;
		return 1;
	}
	/* All 64-bit processes have the same vDSO, so the agent reads its own. */
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
