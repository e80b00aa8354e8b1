/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * debuginfo.db: table file (one row per ELF file, `complete` once all of its chunks are there) and
 * table chunk, whose id is file << 24 | number. Shared by the files of this folder.
 */

#include <pthread.h>
#include <stdatomic.h>

#include "common/hash.h"
#include "common/hash_table.h"
#include "symbolizer/debuginfo/debuginfo_store.h"
#include "symbolizer/store/sqlite_db.h"

/* Independent zstd frames: a range is read without what stands before it, and no row nears SQLite's
 * 1 GB. */
#define CHUNK_BYTES ((size_t)(512 * KIB))

#define CHUNK_NUMBER_BITS 24
static_assert((UINT64_C(1) << CHUNK_NUMBER_BITS) * CHUNK_BYTES >= DEBUGINFO_MAX_FILE_BYTES,
	      "numbers suffice");

#define UPLOAD_PREFIX "debuginfo-upload-"

#define FILE_COLUMNS                                                                               \
	"id, kind, identity, origin, richness, size, stored_bytes, uploaded_ns, last_used_ns, "    \
	"hash"

#define DEBUGINFO_STATEMENTS(X)                                                                    \
	X(FILE_BEST,                                                                               \
	  "SELECT " FILE_COLUMNS " FROM file WHERE kind = ? AND identity = ? AND complete"         \
	  " ORDER BY origin DESC, richness DESC, id DESC LIMIT 1")                                 \
	X(FILE_LIST, "SELECT " FILE_COLUMNS                                                        \
		     " FROM file WHERE complete ORDER BY kind, identity, origin, richness")        \
	X(FILE_ADD,                                                                                \
	  "INSERT INTO file(kind, identity, origin, richness, size, stored_bytes, uploaded_ns,"    \
	  " last_used_ns, hash, complete) VALUES(?, ?, ?, ?, ?, 0, ?, 0, x'', 0)")                 \
	X(FILE_COMPLETE,                                                                           \
	  "UPDATE file SET complete = 1, stored_bytes = ?2, hash = ?3 WHERE id = ?1")              \
	X(FILE_USED, "UPDATE file SET last_used_ns = ?2 WHERE id = ?1")                            \
	X(FILE_POORER,                                                                             \
	  "SELECT id FROM file WHERE kind = ? AND identity = ? AND complete AND origin <= ?"       \
	  " AND richness <= ? AND id <> ? LIMIT 1")                                                \
	X(FILE_OF, "SELECT id FROM file WHERE kind = ? AND identity = ? AND complete LIMIT 1")     \
	X(FILE_INCOMPLETE, "SELECT id FROM file WHERE NOT complete LIMIT 1")                       \
	X(FILE_REMOVE, "DELETE FROM file WHERE id = ?")                                            \
	X(CHUNKS_REMOVE, "DELETE FROM chunk WHERE id >= ? AND id < ?")                             \
	X(CHUNK_ADD, "INSERT INTO chunk(id, hash, content) VALUES(?, ?, ?)")                       \
	X(CHUNKS_READ, "SELECT id, hash, content FROM chunk WHERE id >= ? AND id < ? ORDER BY id") \
	X(GENERATION, "SELECT value FROM generation")                                              \
	X(GENERATION_RAISE, "UPDATE generation SET value = value + 1")

enum debuginfo_statement {
#define X(id, sql) SQL_##id,
	DEBUGINFO_STATEMENTS(X)
#undef X
		DEBUGINFO_STATEMENT_COUNT,
};

struct debuginfo_store {
	char *folder;
	int lock_fd;
	const struct clock *clock;
	_Atomic uint64_t generation;

	pthread_mutex_t write_lock;
	struct sqlite_db *writer;
	pthread_mutex_t read_lock;
	struct sqlite_db *reader;

	pthread_mutex_t asked_lock;
	struct hash_table *asked;      /* struct executable_id -> struct asked */
	uint64_t asked_sweep_after_ns; /* monotonic: @asked is not walked before */
};

static inline int64_t first_chunk_id(int64_t file)
{
	return file << CHUNK_NUMBER_BITS;
}

int debuginfo_db_open(const char *folder, bool writer, struct sqlite_db **ret_db);

/* 1 found, 0 none. @ret_hash may be NULL. */
int debuginfo_db_best(struct sqlite_db *db, const struct executable_id *id,
		      struct debuginfo_entry *ret_entry, struct hash128 *ret_hash);
int debuginfo_db_entry(sqlite3_stmt *row, struct debuginfo_entry *ret_entry);

/* Within a transaction of the caller's. */
int debuginfo_db_remove_file(struct sqlite_db *db, int64_t file);
int debuginfo_db_raise_generation(struct sqlite_db *db, uint64_t *ret_generation);

int debuginfo_asked_new(struct hash_table **ret_asked);

/* Remembers that what was sent as @id was of no use. */
void debuginfo_refused(struct debuginfo_store *store, const struct executable_id *id);
