/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/debuginfo/debuginfo_store.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>

#include "common/elf/richness.h"
#include "common/file.h"
#include "common/log.h"
#include "common/vec.h"
#include "symbolizer/debuginfo/debuginfo_private.h"

/*
 * One connection writes and one answers short questions, each behind its own lock; what takes as
 * long as a file is large has connections of its own (debuginfo_view.c).
 */

/* Files being read at a time; callers bound it to far less. */
#define MAX_PINS 4096

#define MAX_SESSIONS_IN_USE 4096

static int lock_folder(struct debuginfo_store *store)
{
	scoped_free char *path = NULL;

	if (asprintf(&path, "%s/debuginfo.lock", store->folder) < 0)
		return -ENOMEM;
	store->lock_fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0640);
	if (store->lock_fd < 0)
		return -errno;
	if (flock(store->lock_fd, LOCK_EX | LOCK_NB) < 0)
		return errno == EWOULDBLOCK ? -EBUSY : -errno;
	return 0;
}

static int remove_upload_files(const struct debuginfo_store *store)
{
	DIR *folder = opendir(store->folder);
	const struct dirent *entry;

	if (!folder)
		return -errno;
	while ((entry = readdir(folder)))
		if (strncmp(entry->d_name, UPLOAD_PREFIX, strlen(UPLOAD_PREFIX)) == 0)
			(void)unlinkat(dirfd(folder), entry->d_name, 0);
	(void)closedir(folder);
	return 0;
}

static int load_numbers(struct debuginfo_store *store)
{
	uint64_t generation, stored_bytes;
	int r;

	r = debuginfo_db_number(store->writer, SQL_GENERATION, &generation);
	if (r == 0)
		r = debuginfo_db_number(store->writer, SQL_TOTAL, &stored_bytes);
	if (r < 0)
		return r;
	atomic_store(&store->generation, generation);
	atomic_store(&store->stored_bytes, stored_bytes);
	return 0;
}

static int make_tables(struct debuginfo_store *store)
{
	int r;

	(void)pthread_mutex_init(&store->write_lock, NULL);
	(void)pthread_mutex_init(&store->read_lock, NULL);
	(void)pthread_mutex_init(&store->idle_lock, NULL);
	(void)pthread_mutex_init(&store->asked_lock, NULL);
	(void)pthread_mutex_init(&store->session_lock, NULL);
	r = debuginfo_asked_new(&store->asked);
	if (r == 0)
		r = hash_table_new(sizeof(int64_t), sizeof(unsigned int), MAX_PINS, &store->pins);
	if (r == 0)
		r = hash_table_new(DEBUGINFO_SESSION_NAME_SIZE, 0, MAX_SESSIONS_IN_USE,
				   &store->sessions_in_use);
	return r;
}

static int open_database(struct debuginfo_store *store)
{
	int r;

	r = make_folders(store->folder, 0750);
	if (r == 0)
		r = lock_folder(store);
	if (r == 0)
		r = debuginfo_db_open(store->folder, true, &store->writer);
	if (r == 0)
		r = debuginfo_db_open(store->folder, false, &store->reader);
	if (r == 0)
		r = remove_upload_files(store);
	return r < 0 ? r : load_numbers(store);
}

/* They take space, no more: where they cannot be removed (a full disk), the next start tries again.
 */
static void tidy_up(struct debuginfo_store *store)
{
	int r;

	r = debuginfo_remove_unused(store);
	if (r == 0)
		r = debuginfo_sessions_sweep(store);
	if (r < 0)
		log_warn_errno(r,
			       "cannot remove what interrupted uploads left in '%s/debuginfo.db', "
			       "ignoring: %m",
			       store->folder);
	debuginfo_complete_format_1(store);
}

int debuginfo_store_open(const char *folder, const struct clock *clock,
			 struct debuginfo_store **ret_store)
{
	scoped(debuginfo_store_freep) struct debuginfo_store *store = calloc(1, sizeof(*store));
	int r;

	if (!store)
		return -ENOMEM;
	store->lock_fd = -1;
	store->clock = clock;
	store->folder = strdup(folder);
	r = make_tables(store);
	if (r == 0 && !store->folder)
		r = -ENOMEM;
	if (r == 0)
		r = open_database(store);
	if (r < 0)
		return r;
	tidy_up(store);
	*ret_store = take_ptr(store);
	return 0;
}

struct debuginfo_store *debuginfo_store_free(struct debuginfo_store *store)
{
	if (!store)
		return NULL;
	for (unsigned int i = 0; i < store->n_idle; i++)
		(void)sqlite_db_free(store->idle[i]);
	(void)sqlite_db_free(store->reader);
	(void)sqlite_db_free(store->writer);
	(void)hash_table_free(store->asked);
	(void)hash_table_free(store->pins);
	(void)hash_table_free(store->sessions_in_use);
	(void)pthread_mutex_destroy(&store->write_lock);
	(void)pthread_mutex_destroy(&store->read_lock);
	(void)pthread_mutex_destroy(&store->idle_lock);
	(void)pthread_mutex_destroy(&store->asked_lock);
	(void)pthread_mutex_destroy(&store->session_lock);
	scoped_close(&store->lock_fd);
	free(store->folder);
	free(store);
	return NULL;
}

int debuginfo_find_kind(struct debuginfo_store *store, const struct debuginfo_key *key,
			struct debuginfo_entry *ret_entry)
{
	struct stored_file file;
	int r;

	(void)pthread_mutex_lock(&store->read_lock);
	r = debuginfo_db_best(store->reader, key, &file);
	(void)pthread_mutex_unlock(&store->read_lock);
	if (r > 0)
		*ret_entry = file.entry;
	return r;
}

int debuginfo_find(struct debuginfo_store *store, const struct executable_id *id,
		   struct debuginfo_entry *ret_entry)
{
	const struct debuginfo_key key = { .id = *id, .kind = DEBUGINFO_KIND_NAMES, .path = "" };

	return debuginfo_find_kind(store, &key, ret_entry);
}

VEC_DEFINE(entries, struct debuginfo_entry);

/* @id NULL: of all. */
static int collect(struct sqlite_db *db, enum debuginfo_statement statement,
		   const struct executable_id *id, struct entries *entries)
{
	scoped(sqlite_resetp) sqlite3_stmt *row = NULL;
	int r;

	if (id)
		r = sqlite_query(db, statement, &row, SQL_INT(id->kind),
				 SQL_BLOB(id->bytes, id->size));
	else
		r = sqlite_query(db, statement, &row);
	while (r > 0) {
		struct stored_file file;

		r = debuginfo_db_row(row, &file);
		/* The column that has the content of a file has the number of all sources. */
		if (file.entry.is_source)
			file.entry.n_files = (uint32_t)file.content;
		if (r == 0)
			r = vec_push(entries, file.entry);
		if (r == 0)
			r = sqlite_step(db, row);
	}
	return r;
}

static int list(struct debuginfo_store *store, const struct executable_id *id, struct arena *arena,
		struct debuginfo_entry **ret_entries, size_t *ret_count)
{
	struct entries entries = {};
	int r;

	(void)pthread_mutex_lock(&store->read_lock);
	r = collect(store->reader, id ? SQL_ELVES_OF : SQL_ELVES_ALL, id, &entries);
	if (r == 0)
		r = collect(store->reader, id ? SQL_SOURCES_OF : SQL_SOURCES_ALL, id, &entries);
	(void)pthread_mutex_unlock(&store->read_lock);
	if (r == 0) {
		*ret_entries =
			arena_copy(arena, entries.items, entries.count * sizeof(*entries.items));
		*ret_count = entries.count;
		r = *ret_entries ? 0 : -ENOMEM;
	}
	vec_release(&entries);
	return r;
}

int debuginfo_list(struct debuginfo_store *store, struct arena *arena,
		   struct debuginfo_entry **ret_entries, size_t *ret_count)
{
	return list(store, NULL, arena, ret_entries, ret_count);
}

int debuginfo_list_of(struct debuginfo_store *store, const struct executable_id *id,
		      struct arena *arena, struct debuginfo_entry **ret_entries, size_t *ret_count)
{
	return list(store, id, arena, ret_entries, ret_count);
}

/* 1 found, 0 none. */
static int first_file_of(struct sqlite_db *db, const struct executable_id *id, int64_t *ret_file)
{
	scoped(sqlite_resetp) sqlite3_stmt *row = NULL;
	int r;

	r = sqlite_query(db, SQL_FILES_OF, &row, SQL_INT(id->kind), SQL_BLOB(id->bytes, id->size));
	if (r > 0)
		*ret_file = sqlite3_column_int64(row, 0);
	return r;
}

/* 1 something was removed, 0 nothing was there. */
static int remove_all_of(struct debuginfo_store *store, void *arg)
{
	const struct executable_id *id = arg;
	bool removed = false;
	int64_t file;
	int r;

	while ((r = first_file_of(store->writer, id, &file)) > 0) {
		r = debuginfo_db_remove_file(store->writer, file);
		if (r < 0)
			break;
		removed = true;
	}
	return r < 0 ? r : removed;
}

int debuginfo_remove(struct debuginfo_store *store, const struct executable_id *id)
{
	return debuginfo_change(store, remove_all_of, (void *)id);
}

uint64_t debuginfo_generation(struct debuginfo_store *store)
{
	return atomic_load(&store->generation);
}
