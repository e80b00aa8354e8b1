/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/debuginfo/debuginfo_store.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/mman.h>

#include "common/file.h"
#include "common/log.h"
#include "common/vec.h"
#include "common/zstd_frame.h"
#include "symbolizer/debuginfo/debuginfo_db.h"

/*
 * One connection writes and one answers short questions, each behind its own lock. Expanding a file
 * takes a connection of its own: it reads for as long as the file is large, from the snapshot that
 * WAL gives it, whatever is replaced meanwhile.
 */

/* How often last_used_ns is brought up to date. */
#define USED_LAG_NS (3600 * NSEC_PER_SEC)

/* Expanded files below this stay in memory. Callers bound how many there are at a time. */
#define IN_MEMORY_BELOW_BYTES (64 * MIB)

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

/* 1 found, 0 none. */
static int find_file(struct sqlite_db *db, enum debuginfo_statement statement,
		     const struct executable_id *id, int64_t *ret_file)
{
	scoped(sqlite_resetp) sqlite3_stmt *row = NULL;
	int r;

	if (id)
		r = sqlite_query(db, statement, &row, SQL_INT(id->kind),
				 SQL_BLOB(id->bytes, id->size));
	else
		r = sqlite_query(db, statement, &row);
	if (r > 0)
		*ret_file = sqlite3_column_int64(row, 0);
	return r;
}

static int remove_file(struct sqlite_db *db, int64_t file)
{
	int r;

	r = sqlite_begin(db);
	if (r == 0)
		r = debuginfo_db_remove_file(db, file);
	if (r == 0)
		r = sqlite_commit(db);
	if (r < 0)
		sqlite_rollback(db);
	return r;
}

/*
 * A damaged file is worse than none: as long as it stands, an equal one is not better, a poorer one
 * of a lower rank is not looked at, and nobody is asked for another.
 */
static void forget_damaged_file(struct debuginfo_store *store, int64_t file)
{
	uint64_t generation;
	int r;

	(void)pthread_mutex_lock(&store->write_lock);
	r = sqlite_begin(store->writer);
	if (r == 0)
		r = debuginfo_db_remove_file(store->writer, file);
	if (r == 0)
		r = debuginfo_db_raise_generation(store->writer, &generation);
	if (r == 0)
		r = sqlite_commit(store->writer);
	if (r < 0)
		sqlite_rollback(store->writer);
	else
		atomic_store(&store->generation, generation);
	(void)pthread_mutex_unlock(&store->write_lock);
	if (r < 0)
		log_warn_errno(r,
			       "cannot remove damaged debuginfo from '%s/debuginfo.db', it can be "
			       "removed with DELETE /v1/debuginfo/BUILDID: %m",
			       store->folder);
}

/* They take space, no more: where they cannot be removed (a full disk), the next start tries again.
 */
static void remove_incomplete_files(struct debuginfo_store *store)
{
	int64_t file;
	int r;

	while ((r = find_file(store->writer, SQL_FILE_INCOMPLETE, NULL, &file)) > 0) {
		r = remove_file(store->writer, file);
		if (r < 0)
			break;
	}
	if (r < 0)
		log_warn_errno(r,
			       "cannot remove what interrupted uploads left in '%s/debuginfo.db', "
			       "ignoring: %m",
			       store->folder);
}

static int load_generation(struct debuginfo_store *store)
{
	scoped(sqlite_resetp) sqlite3_stmt *row = NULL;
	int r;

	r = sqlite_query(store->writer, SQL_GENERATION, &row);
	if (r <= 0)
		return r < 0 ? r : -EIO;
	atomic_store(&store->generation, (uint64_t)sqlite3_column_int64(row, 0));
	return 0;
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
	(void)pthread_mutex_init(&store->write_lock, NULL);
	(void)pthread_mutex_init(&store->read_lock, NULL);
	(void)pthread_mutex_init(&store->asked_lock, NULL);
	store->folder = strdup(folder);
	if (!store->folder)
		return -ENOMEM;
	r = debuginfo_asked_new(&store->asked);
	if (r == 0)
		r = make_folders(folder, 0750);
	if (r == 0)
		r = lock_folder(store);
	if (r == 0)
		r = debuginfo_db_open(folder, true, &store->writer);
	if (r == 0)
		r = debuginfo_db_open(folder, false, &store->reader);
	if (r == 0)
		r = remove_upload_files(store);
	if (r == 0)
		r = load_generation(store);
	if (r < 0)
		return r;
	remove_incomplete_files(store);
	*ret_store = take_ptr(store);
	return 0;
}

struct debuginfo_store *debuginfo_store_free(struct debuginfo_store *store)
{
	if (!store)
		return NULL;
	(void)sqlite_db_free(store->reader);
	(void)sqlite_db_free(store->writer);
	(void)hash_table_free(store->asked);
	(void)pthread_mutex_destroy(&store->write_lock);
	(void)pthread_mutex_destroy(&store->read_lock);
	(void)pthread_mutex_destroy(&store->asked_lock);
	scoped_close(&store->lock_fd);
	free(store->folder);
	free(store);
	return NULL;
}

int debuginfo_find(struct debuginfo_store *store, const struct executable_id *id,
		   struct debuginfo_entry *ret_entry)
{
	int r;

	(void)pthread_mutex_lock(&store->read_lock);
	r = debuginfo_db_best(store->reader, id, ret_entry, NULL);
	(void)pthread_mutex_unlock(&store->read_lock);
	return r;
}

/*
 * A file with content that nobody else can see, and that goes away with its descriptor. Smaller
 * ones are kept in memory: they can be read when the disk is full, and most of them are symbols
 * that a query waits for.
 */
static int open_unlinked(const char *folder, uint64_t size_bytes)
{
	scoped_free char *path = NULL;
	int fd;

	if (size_bytes < IN_MEMORY_BELOW_BYTES) {
		fd = memfd_create("hearth-debuginfo", MFD_CLOEXEC);
		return fd < 0 ? -errno : fd;
	}
	fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR))
		return fd >= 0 ? fd : -errno;
	if (asprintf(&path, "%s/" UPLOAD_PREFIX "XXXXXX", folder) < 0)
		return -ENOMEM;
	fd = mkostemp(path, O_CLOEXEC);
	if (fd < 0)
		return -errno;
	(void)unlink(path);
	return fd;
}

/* A file being expanded; what it should be comes from its row. */
struct expansion {
	const struct debuginfo_store *store;
	struct sqlite_db *db;
	struct debuginfo_entry entry;
	struct hash128 hash;
	int fd;
	bool damaged;
	uint64_t n_chunks;
	uint64_t size;
	struct bytes plain;
	struct bytes hashes;
};

static int damaged(struct expansion *expansion, const char *what)
{
	char id[EXECUTABLE_ID_TEXT_SIZE];

	expansion->damaged = true;
	executable_id_format(&expansion->entry.id, id);
	return log_error_errno(EIO,
			       "debuginfo of '%s' in '%s/debuginfo.db' is damaged (%s), removing "
			       "it, upload it again: %m",
			       id, expansion->store->folder, what);
}

static int expand_chunk(struct expansion *expansion, sqlite3_stmt *row)
{
	struct bytes_view stored_hash = sqlite_blob(row, 1);
	struct hash128 hash;
	int r;

	if (sqlite3_column_int64(row, 0) !=
	    first_chunk_id((int64_t)expansion->entry.generation) + (int64_t)expansion->n_chunks)
		return damaged(expansion, "a chunk is missing");
	bytes_clear(&expansion->plain);
	r = zstd_decompress(sqlite_blob(row, 2), &expansion->plain);
	if (r == -EBADMSG || r == -EFBIG)
		return damaged(expansion, "a chunk cannot be decompressed");
	if (r < 0)
		return r;
	hash = hash128_of(expansion->plain.data, expansion->plain.size);
	if (stored_hash.size != sizeof(hash) || memcmp(stored_hash.data, &hash, sizeof(hash)) != 0)
		return damaged(expansion, "a chunk has another hash");
	(void)bytes_append(&expansion->hashes, hash.bytes, sizeof(hash.bytes));
	expansion->n_chunks++;
	expansion->size += expansion->plain.size;
	return write_all(expansion->fd, expansion->plain.data, expansion->plain.size);
}

static int expand_chunks(struct expansion *expansion)
{
	int64_t file = (int64_t)expansion->entry.generation;
	scoped(sqlite_resetp) sqlite3_stmt *row = NULL;
	struct hash128 hash;
	int r;

	r = sqlite_query(expansion->db, SQL_CHUNKS_READ, &row, SQL_INT(first_chunk_id(file)),
			 SQL_INT(first_chunk_id(file + 1)));
	while (r > 0) {
		r = expand_chunk(expansion, row);
		if (r == 0)
			r = sqlite_step(expansion->db, row);
	}
	if (r < 0)
		return r;
	if (bytes_error(&expansion->hashes) < 0)
		return bytes_error(&expansion->hashes);
	hash = hash128_of(expansion->hashes.data, expansion->hashes.size);
	if (expansion->size != expansion->entry.size_bytes ||
	    memcmp(&hash, &expansion->hash, sizeof(hash)) != 0)
		return damaged(expansion, "its size or hash differs");
	return lseek(expansion->fd, 0, SEEK_SET) < 0 ? -errno : 0;
}

/* In one read transaction: what is replaced or removed meanwhile stays readable here. */
static int expand_best(struct expansion *expansion, const struct executable_id *id)
{
	int r;

	r = sqlite_db_run(expansion->db, "BEGIN");
	if (r == 0)
		r = debuginfo_db_best(expansion->db, id, &expansion->entry, &expansion->hash);
	if (r <= 0)
		return r;
	expansion->fd = open_unlinked(expansion->store->folder, expansion->entry.size_bytes);
	if (expansion->fd < 0)
		return expansion->fd;
	r = expand_chunks(expansion);
	return r < 0 ? r : 1;
}

static void note_use(struct debuginfo_store *store, const struct debuginfo_entry *entry)
{
	uint64_t now = clock_wall_ns(store->clock);

	if (now < entry->last_used_wall_ns + USED_LAG_NS)
		return;
	/* A full disk is no reason not to read. */
	(void)pthread_mutex_lock(&store->write_lock);
	(void)sqlite_run(store->writer, SQL_FILE_USED, SQL_INT(entry->generation), SQL_INT(now));
	(void)pthread_mutex_unlock(&store->write_lock);
}

int debuginfo_open_file(struct debuginfo_store *store, const struct executable_id *id, int *ret_fd,
			struct debuginfo_entry *ret_entry)
{
	scoped(sqlite_db_freep) struct sqlite_db *db = NULL;
	struct expansion expansion = {
		.store = store,
		.fd = -1,
		.plain = BYTES_INIT(CHUNK_BYTES),
		.hashes =
			BYTES_INIT(DEBUGINFO_MAX_FILE_BYTES / CHUNK_BYTES * sizeof(struct hash128)),
	};
	int r;

	r = debuginfo_db_open(store->folder, false, &db);
	if (r < 0)
		return r;
	expansion.db = db;
	r = expand_best(&expansion, id);
	if (r > 0) {
		note_use(store, &expansion.entry);
		*ret_fd = take_fd(expansion.fd);
		*ret_entry = expansion.entry;
	}
	/* Its read transaction goes first: it would keep the removed pages alive. */
	expansion.db = db = sqlite_db_free(db);
	if (expansion.damaged)
		forget_damaged_file(store, (int64_t)expansion.entry.generation);
	scoped_close(&expansion.fd);
	bytes_release(&expansion.plain);
	bytes_release(&expansion.hashes);
	return r;
}

static int collect_entries(struct sqlite_db *db, struct arena *arena,
			   struct debuginfo_entry **ret_entries, size_t *ret_count)
{
	scoped(sqlite_resetp) sqlite3_stmt *row = NULL;
	VEC_DEFINE(, struct debuginfo_entry) entries = {};
	int r;

	r = sqlite_query(db, SQL_FILE_LIST, &row);
	while (r > 0) {
		struct debuginfo_entry entry;

		r = debuginfo_db_entry(row, &entry);
		if (r == 0)
			r = vec_push(&entries, entry);
		if (r == 0)
			r = sqlite_step(db, row);
	}
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
	int r;

	(void)pthread_mutex_lock(&store->read_lock);
	r = collect_entries(store->reader, arena, ret_entries, ret_count);
	(void)pthread_mutex_unlock(&store->read_lock);
	return r;
}

/* 1 something was removed, 0 nothing was there. */
static int remove_all_of(struct sqlite_db *db, const struct executable_id *id,
			 uint64_t *ret_generation)
{
	bool removed = false;
	int64_t file;
	int r;

	while ((r = find_file(db, SQL_FILE_OF, id, &file)) > 0) {
		r = debuginfo_db_remove_file(db, file);
		if (r < 0)
			break;
		removed = true;
	}
	if (r == 0 && removed)
		r = debuginfo_db_raise_generation(db, ret_generation);
	return r < 0 ? r : removed;
}

int debuginfo_remove(struct debuginfo_store *store, const struct executable_id *id)
{
	uint64_t generation;
	int r;

	(void)pthread_mutex_lock(&store->write_lock);
	r = sqlite_begin(store->writer);
	if (r == 0)
		r = remove_all_of(store->writer, id, &generation);
	if (r > 0)
		r = sqlite_commit(store->writer) < 0 ? -EIO : 1;
	if (r <= 0)
		sqlite_rollback(store->writer);
	if (r > 0) {
		(void)sqlite_db_run(store->writer, "PRAGMA incremental_vacuum");
		atomic_store(&store->generation, generation);
	}
	(void)pthread_mutex_unlock(&store->write_lock);
	return r;
}

uint64_t debuginfo_generation(struct debuginfo_store *store)
{
	return atomic_load(&store->generation);
}
