/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The database debuginfo.db (format 5) and the state of the store, for the files of this folder.
 *
 *   file      the files of an identity: ELF files (path ""), split DWARF, source files
 *   content   the bytes of files; files with equal bytes share a row. `complete` is set after all
 *             chunks are stored
 *   chunk     its ID is content << 24 | number
 *   session   unfinished uploads in pieces
 *   miss      the negative cache of upstream servers
 *   alias     the identity of an uploaded file by its htlhash (executable_id.h), as long as one of
 *             both has files
 *   unhashed  ELF files of earlier formats that have no alias yet
 *   total     stored_bytes of all complete content, updated with it
 */

#include <pthread.h>
#include <stdatomic.h>

#include "common/hash.h"
#include "common/hash_table.h"
#include "symbolizer/debuginfo/debuginfo_store.h"
#include "symbolizer/sqlite/sqlite_db.h"

/*
 * Size of a chunk, which is an independent zstd frame: a range is read without the chunks before
 * it, and no row is near SQLite's limit of 1 GB.
 */
#define CHUNK_BYTES ((size_t)(512 * KIB))

#define CHUNK_NUMBER_BITS 24
static_assert((UINT64_C(1) << CHUNK_NUMBER_BITS) * CHUNK_BYTES >= DEBUGINFO_MAX_FILE_BYTES,
	      "the largest file has fewer chunks than numbers");

#define UPLOAD_PREFIX "debuginfo-upload-"

enum file_role {
	ROLE_ELF = 1,
	ROLE_SOURCE = 2,
	ROLE_SPLIT = 3, /* path "" */
};

#define FILE_COLUMNS                                                                               \
	"file.id, kind, identity, role, origin, richness, code, content, uploaded_ns,"             \
	" first_used_ns, last_used_ns, size, stored_bytes, hash, sha256"

#define FROM_FILES " FROM file JOIN content ON content.id = file.content"

/* The best file by origin, then by richness. @condition selects the kind. */
#define BEST_ELF(condition)                                                                        \
	"SELECT " FILE_COLUMNS FROM_FILES                                                          \
	" WHERE kind = ? AND identity = ? AND role = 1 AND path = '' AND " condition               \
	" ORDER BY origin DESC, richness DESC, file.id DESC LIMIT 1"

#define SOURCES_SUMMED                                                                             \
	"SELECT 0, kind, identity, role, max(origin), 0, 0, count(*), max(uploaded_ns),"           \
	" min(nullif(first_used_ns, 0)), max(last_used_ns), sum(size), sum(stored_bytes), x'', "   \
	"x''"

/* clang-format off */
#define DEBUGINFO_STATEMENTS(X)                                                                    \
	X(FILE_FOR_NAMES, BEST_ELF("richness > 0"))                                                \
	X(FILE_DEBUGINFO, BEST_ELF("(richness > 2 OR (richness = 2 AND NOT code))"))               \
	X(FILE_EXECUTABLE, BEST_ELF("code"))                                                       \
	X(FILE_SOURCE, "SELECT " FILE_COLUMNS FROM_FILES                                           \
		       " WHERE kind = ? AND identity = ? AND role = 2 AND path = ?"                \
		       " ORDER BY origin DESC, file.id DESC LIMIT 1")                              \
	X(FILE_SPLIT, "SELECT " FILE_COLUMNS FROM_FILES                                            \
		      " WHERE kind = ? AND identity = ? AND role = 3"                              \
		      " ORDER BY origin DESC, file.id DESC LIMIT 1")                               \
	X(FILE_BY_ID, "SELECT " FILE_COLUMNS FROM_FILES " WHERE file.id = ?")                      \
	X(FILES_OF, "SELECT file.id FROM file WHERE kind = ? AND identity = ?")                    \
	X(ELVES_OF, "SELECT " FILE_COLUMNS FROM_FILES                                              \
		    " WHERE kind = ? AND identity = ? AND role <> 2 ORDER BY file.id DESC")        \
	X(ELVES_ALL, "SELECT " FILE_COLUMNS FROM_FILES                                             \
		     " WHERE role <> 2 ORDER BY kind, identity, role, origin, richness")           \
	X(SOURCES_OF, SOURCES_SUMMED FROM_FILES " WHERE kind = ? AND identity = ? AND role = 2"    \
						" GROUP BY kind, identity")                        \
	X(SOURCES_ALL, SOURCES_SUMMED FROM_FILES " WHERE role = 2 GROUP BY kind, identity")        \
	X(FILE_UNKNOWN_CODE, "SELECT id FROM file WHERE code IS NULL LIMIT 1")                     \
	X(FILE_SET_CODE, "UPDATE file SET code = ?2 WHERE id = ?1")                                \
	X(FILE_ADD,                                                                                \
	  "INSERT INTO file(kind, identity, role, path, origin, richness, code, content,"          \
	  " uploaded_ns, last_used_ns) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, 0)")                      \
	X(FILE_USED, "UPDATE file SET last_used_ns = ?2, first_used_ns ="                          \
		     " CASE first_used_ns WHEN 0 THEN ?2 ELSE first_used_ns END WHERE id = ?1")    \
	X(FILE_REMOVE, "DELETE FROM file WHERE id = ?")                                            \
	X(FILE_OWNER, "SELECT content, kind, identity FROM file WHERE id = ?")                     \
	X(EVICTION_ORDER, "SELECT file.id, content, stored_bytes" FROM_FILES                       \
			  " WHERE origin < ?1 AND file.id <> ?2"                                   \
			  " ORDER BY origin = 3, max(uploaded_ns, last_used_ns) LIMIT 256")        \
	X(PIPELINE_BYTES, "SELECT ifnull(sum(stored_bytes), 0) FROM content WHERE id IN"           \
			  " (SELECT content FROM file WHERE origin = 3)")                          \
	X(CONTENT_ADD, "INSERT INTO content(size, stored_bytes, hash, sha256, complete)"           \
		       " VALUES(?, 0, x'', ?, 0)")                                                 \
	X(CONTENT_COMPLETE,                                                                        \
	  "UPDATE content SET complete = 1, stored_bytes = ?2, hash = ?3 WHERE id = ?1")           \
	X(CONTENT_BY_SHA256,                                                                       \
	  "SELECT id, stored_bytes, hash FROM content"                                             \
	  " WHERE sha256 = ? AND sha256 <> x'' AND complete AND id <> ? LIMIT 1")                  \
	X(CONTENT_FILES, "SELECT 1 FROM file WHERE content = ? LIMIT 1")                           \
	X(CONTENT_BYTES, "SELECT stored_bytes FROM content WHERE id = ? AND complete")             \
	X(CONTENT_UNUSED, "SELECT id FROM content WHERE NOT complete OR NOT EXISTS"                \
			  " (SELECT 1 FROM file WHERE content = content.id) LIMIT 1")              \
	X(CONTENT_REMOVE, "DELETE FROM content WHERE id = ?")                                      \
	X(CHUNKS_REMOVE, "DELETE FROM chunk WHERE id >= ? AND id < ?")                             \
	X(CHUNK_ADD, "INSERT INTO chunk(id, hash, content) VALUES(?, ?, ?)")                       \
	X(CHUNKS_READ, "SELECT id, hash, content FROM chunk WHERE id >= ? AND id < ? ORDER BY id") \
	X(TOTAL, "SELECT stored_bytes FROM total")                                                 \
	X(FREE_PAGES, "SELECT freelist_count FROM pragma_freelist_count")                          \
	X(TOTAL_ADD, "UPDATE total SET stored_bytes = stored_bytes + ?")                           \
	X(SESSION_ADD, "INSERT INTO session(name, kind, identity, path, origin, size, sha256,"     \
		       " touched_ns) VALUES(?, ?, ?, ?, ?, ?, ?, ?)")                              \
	X(SESSION_READ, "SELECT name, kind, identity, path, origin, size, sha256, touched_ns"      \
			" FROM session WHERE name = ?")                                            \
	X(SESSION_SAME, "SELECT name FROM session WHERE kind = ? AND identity = ? AND path = ?"    \
			" AND origin = ? AND size = ? AND sha256 = ?")                             \
	X(SESSION_TOUCH, "UPDATE session SET touched_ns = ?2 WHERE name = ?1")                     \
	X(SESSION_REMOVE, "DELETE FROM session WHERE name = ?")                                    \
	X(SESSION_STALE, "SELECT name FROM session WHERE touched_ns < ? LIMIT 1")                  \
	X(SESSION_COUNT, "SELECT count(*) FROM session")                                           \
	X(SESSION_BYTES, "SELECT ifnull(sum(size), 0) FROM session")                               \
	X(MISS_READ, "SELECT failures, not_before_ns FROM miss"                                    \
		     " WHERE kind = ? AND identity = ? AND what = ? AND path = ?")                 \
	X(MISS_PUT, "INSERT OR REPLACE INTO miss(kind, identity, what, path, failures,"            \
		    " not_before_ns) VALUES(?, ?, ?, ?, ?, ?)")                                    \
	X(MISS_CLEAR, "DELETE FROM miss WHERE kind = ? AND identity = ?")                          \
	X(MISS_OLD, "DELETE FROM miss WHERE not_before_ns < ?")                                    \
	X(ALIAS_READ, "SELECT kind, identity, origin FROM alias WHERE htlhash = ?")                \
	X(ALIAS_PUT, "INSERT OR REPLACE INTO alias(htlhash, kind, identity, origin)"              \
		     " VALUES(?, ?, ?, ?)")                                                        \
	X(ALIAS_COUNT, "SELECT count(*) FROM alias WHERE kind = ? AND identity = ?")               \
	X(ALIAS_DROP_ONE, "DELETE FROM alias WHERE htlhash = (SELECT htlhash FROM alias"           \
			  " WHERE kind = ? AND identity = ? AND origin <= ?"                       \
			  " ORDER BY origin LIMIT 1)")                                             \
	X(ALIAS_HAS_FILES, "SELECT 1 FROM file WHERE (kind = ?1 AND identity = ?2)"                \
			   " OR (kind = 4 AND identity = ?3) LIMIT 1")                             \
	X(ALIAS_CLEAR,                                                                             \
	  "DELETE FROM alias WHERE ((kind = ?1 AND identity = ?2) OR (?1 = 4 AND htlhash = ?2))"   \
	  " AND NOT EXISTS (SELECT 1 FROM file WHERE file.kind = alias.kind"                       \
	  " AND file.identity = alias.identity)"                                                   \
	  " AND NOT EXISTS (SELECT 1 FROM file WHERE file.kind = 4"                                \
	  " AND file.identity = alias.htlhash)")                                                   \
	X(ALIASES_OF, "SELECT htlhash FROM alias WHERE kind = ? AND identity = ?")                 \
	X(UNHASHED, "SELECT file FROM unhashed LIMIT ?")                                           \
	X(UNHASHED_REMOVE, "DELETE FROM unhashed WHERE file = ?")                                  \
	X(GENERATION, "SELECT value FROM generation")                                              \
	X(GENERATION_RAISE, "UPDATE generation SET value = value + 1")
/* clang-format on */

enum debuginfo_statement {
#define X(id, sql) SQL_##id,
	DEBUGINFO_STATEMENTS(X)
#undef X
		DEBUGINFO_STATEMENT_COUNT,
};

/* Idle connections that are kept for the next reader: opening one costs more than a section. */
#define MAX_IDLE_READERS 8

struct debuginfo_fetcher;

struct debuginfo_store {
	char *folder;
	int lock_fd;
	const struct clock *clock;
	_Atomic uint64_t generation;

	pthread_mutex_t write_queue_lock; /* see debuginfo_write_begin() */
	pthread_mutex_t write_lock;
	struct sqlite_db *writer;
	pthread_mutex_t read_lock;
	struct sqlite_db *reader;

	pthread_mutex_t idle_lock;
	struct sqlite_db *idle[MAX_IDLE_READERS];
	unsigned int n_idle;
	struct hash_table *pins; /* under idle_lock: content -> unsigned int, number of readers */

	_Atomic uint64_t quota_bytes; /* 0: none */
	_Atomic uint64_t low_bytes;
	_Atomic uint64_t stored_bytes;
	_Atomic uint64_t n_evicted;

	pthread_mutex_t requests_lock;
	struct hash_table *requests;      /* struct executable_id -> struct request */
	uint64_t requests_sweep_after_ns; /* monotonic: @requests is not walked before */

	pthread_mutex_t session_lock;
	struct hash_table *sessions_in_use; /* set of session names */

	_Atomic(struct debuginfo_fetcher *) fetcher; /* NULL: no upstream servers */

	pthread_t backfill; /* see debuginfo_backfill.c */
	bool has_backfill;
	_Atomic bool stopping;
};

static_assert(EXECUTABLE_ID_HTLHASH == 4, "the statements of aliases contain this number");

static inline int64_t first_chunk_id(int64_t content)
{
	return content << CHUNK_NUMBER_BITS;
}

int debuginfo_db_open(const char *folder, bool writer, struct sqlite_db **ret_db);

/* A file row with its content. */
struct stored_file {
	struct debuginfo_entry entry;
	int64_t id;
	int64_t content;
	bool code_unknown; /* of format 1, and not read since */
};

int debuginfo_db_row(sqlite3_stmt *row, struct stored_file *ret_file);

/* Returns 1 with the identity of which @htlhash is an alias, and the origin of the file; 0: there
 * is none, or @htlhash is of another kind. */
int debuginfo_db_alias(struct sqlite_db *db, const struct executable_id *htlhash,
		       struct executable_id *ret_id, enum debuginfo_origin *ret_origin);

/* Returns 1 if found, 0 if there is none. Files of an htlhash are also those of the identity of
 * which it is an alias. */
int debuginfo_db_best(struct sqlite_db *db, const struct debuginfo_key *key,
		      struct stored_file *ret_file);

/* The same without aliases, for changes of the files of this identity. */
int debuginfo_db_best_own(struct sqlite_db *db, const struct debuginfo_key *key,
			  struct stored_file *ret_file);
int debuginfo_db_by_id(struct sqlite_db *db, int64_t id, struct stored_file *ret_file);

/* Runs in a transaction of the caller. Content is removed with its last file. */
int debuginfo_db_remove_file(struct sqlite_db *db, int64_t file);
int debuginfo_db_remove_content(struct sqlite_db *db, int64_t content);
int debuginfo_db_raise_generation(struct sqlite_db *db, uint64_t *ret_generation);

/* Reads one number with a statement without parameters. */
int debuginfo_db_number(struct sqlite_db *db, enum debuginfo_statement statement,
			uint64_t *ret_number);
