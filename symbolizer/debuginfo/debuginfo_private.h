/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Functions that the files of this folder share, besides the database (debuginfo_db.h).
 *
 * Calls go in one direction only:
 *
 *   debuginfo_store (open) -> session, upload -> publish -> content, quota, rank, requests, alias
 *   debuginfo_store -> backfill -> alias, view
 *   open, check -> view -> quota -> change -> connections -> db;
 *   requests -> find, negative_cache -> db
 */

#include "symbolizer/debuginfo/debuginfo_db.h"
#include "symbolizer/debuginfo/debuginfo_error.h"
#include "symbolizer/debuginfo/debuginfo_fetcher.h"

/* ---- debuginfo_connections.c ----------------------------------------------------------------- */

/* The writer is the caller's until debuginfo_write_end(). Threads get it in turn. */
void debuginfo_write_begin(struct debuginfo_store *store);
void debuginfo_write_end(struct debuginfo_store *store);

/*
 * A connection for reads that take long. Give it back with no statement running; an open
 * transaction ends. NULL is ignored.
 */
int debuginfo_reader_take(struct debuginfo_store *store, struct sqlite_db **ret_db);
void debuginfo_reader_give_back(struct debuginfo_store *store, struct sqlite_db *db);

/* ---- debuginfo_change.c: one change of the stored files, in one transaction ------------------ */

/*
 * Runs with a transaction open on the writer. Returns 1 after a change, which the caller commits.
 * Returns 0 if nothing is to be changed, or a negative errno: then the caller rolls back.
 */
typedef int (*debuginfo_change_function)(struct debuginfo_store *store, void *arg);

/*
 * Runs @function in a transaction, under the write lock. A change raises the generation and
 * returns free space to the file system, in steps. Returns the result of @function.
 */
int debuginfo_change(struct debuginfo_store *store, debuginfo_change_function function, void *arg);

/*
 * Returns the pages of removed content to the file system, in transactions of some megabytes, so
 * that other threads get the writer in between. Call it without the write lock.
 */
void debuginfo_return_space(struct debuginfo_store *store);

int debuginfo_remove_file(struct debuginfo_store *store, int64_t file);

/* Removes content that no file row names: leftovers of failed or interrupted uploads. */
int debuginfo_remove_unused(struct debuginfo_store *store);

/* ---- debuginfo_room.c ------------------------------------------------------------------------ */

/* The part of @free_bytes that uploads may use; the rest is for samples. */
uint64_t debuginfo_usable_bytes(uint64_t disk_bytes, uint64_t free_bytes);

/* ---- debuginfo_quota.c ---------------------------------------------------------------------- */

/* Evicts files after @file was stored. -EDQUOT: @file itself was evicted. */
int debuginfo_enforce_quota(struct debuginfo_store *store, int64_t file,
			    enum debuginfo_origin origin);

/*
 * Checks whether eviction can make room for @size more stored bytes of @origin. Returns 0, or
 * -EDQUOT.
 */
int debuginfo_quota_allows(struct debuginfo_store *store, enum debuginfo_origin origin,
			   uint64_t size);

/* Pinned content is being read, and is not evicted. */
void debuginfo_pin(struct debuginfo_store *store, int64_t content);
void debuginfo_unpin(struct debuginfo_store *store, int64_t content);

/* ---- debuginfo_rank.c: which files of an identity to keep ------------------------------------ */

bool debuginfo_is_of_kind(const struct debuginfo_entry *entry, enum debuginfo_kind kind);

/*
 * Returns whether @entry is the best file of some kind, or richer than the file of a better origin:
 * none of the others is at least as good in both respects.
 */
bool debuginfo_is_needed(const struct debuginfo_entry *entry, const struct debuginfo_entry *others,
			 size_t n_others);

/* ---- debuginfo_view.c: reads a stored file, whole or in parts -------------------------------- */

struct debuginfo_view {
	struct debuginfo_store *store;
	struct sqlite_db *db; /* in a read transaction, which still sees files removed meanwhile */
	struct stored_file file;
	int fd;           /* has the bytes read so far, at their offsets; the rest are holes */
	uint8_t *present; /* [n_chunks], 1: the chunk is in fd */
	uint64_t n_chunks;
	bool in_memory; /* fd is a memfd */
	bool damaged;
	struct bytes plain;
};

/*
 * Opens the best file of @key. Returns 1 if found, 0 if there is none. The caller releases the view
 * in any case.
 */
int debuginfo_view_open(struct debuginfo_store *store, const struct debuginfo_key *key,
			struct debuginfo_view *view);
int debuginfo_view_open_id(struct debuginfo_store *store, int64_t file,
			   struct debuginfo_view *view);

/* Expands these bytes into view->fd. -ERANGE beyond the end of the file; -EIO: it is damaged. */
int debuginfo_view_read(struct debuginfo_view *view, uint64_t offset, uint64_t size);

/* Expands all bytes, and compares the hash of the whole file. */
int debuginfo_view_read_all(struct debuginfo_view *view);

/* Writes the compressed frames to @fd, one after another. */
int debuginfo_view_copy_frames(struct debuginfo_view *view, int fd);

/* Expands the headers and the section names, so that elf_file_open() can read view->fd. */
int debuginfo_view_read_headers(struct debuginfo_view *view);

/* The caller owns the returned descriptor, which is at offset 0. */
int debuginfo_view_take_fd(struct debuginfo_view *view);

/* Also removes the file from the store if the view found it damaged. */
void debuginfo_view_release(struct debuginfo_view *view);

/*
 * Creates a file without a name: a memfd if it is small, else a file on disk. Closing the returned
 * descriptor deletes it.
 */
int debuginfo_open_unlinked(const char *folder, uint64_t size_bytes);

/* ---- debuginfo_content.c: writes content into the database ----------------------------------- */

struct new_content {
	int64_t id;  /* 0: none, or the caller must not remove it */
	bool shared; /* equal content was already stored */
	uint64_t size;
	uint64_t stored_bytes;
	uint8_t sha256[DEBUGINFO_SHA256_BYTES];
	struct hash128 hash;
};

int debuginfo_sha256_of_fd(int fd, uint64_t size, uint8_t ret_sha256[DEBUGINFO_SHA256_BYTES]);

/*
 * Stores the @size bytes of @fd, or finds equal content. New content is incomplete until
 * debuginfo_content_publish().
 */
int debuginfo_content_store(struct debuginfo_store *store, int fd, uint64_t size,
			    struct new_content *ret_content);

/* Runs in a transaction on the writer, right before the caller adds the file row. */
int debuginfo_content_publish(struct debuginfo_store *store, struct new_content *content);

/* Removes the content after a failure. If that fails too, the next opening removes it. */
void debuginfo_content_forget(struct debuginfo_store *store, struct new_content *content);

/* ---- debuginfo_alias.c ----------------------------------------------------------------------- */

/* Bytes at each end of a file that the hash covers. */
#define DEBUGINFO_HTLHASH_END_BYTES 4096

/* Reads only the ends of @fd. */
int debuginfo_htlhash_of_fd(int fd, uint64_t size, struct executable_id *ret_id);

struct debuginfo_alias {
	struct executable_id htlhash;
	struct executable_id id; /* of the file with this hash */
	enum debuginfo_origin origin;
};

/*
 * Runs in a transaction of the caller. Returns 1 if stored. Returns 0 if not: the hash has an alias
 * from an origin that is at least as trusted, or neither identity has files.
 */
int debuginfo_alias_put(struct sqlite_db *db, const struct debuginfo_alias *alias);

/*
 * Records that the file @fd, of @size bytes, was uploaded as @id. If @id is its htlhash, records
 * the identity that the notes or the code of the file give. Logs a failure.
 */
void debuginfo_add_alias(struct debuginfo_store *store, const struct executable_id *id,
			 enum debuginfo_origin origin, int fd, uint64_t size);

/* ---- debuginfo_backfill.c -------------------------------------------------------------------- */

/* Starts a thread that hashes the files without alias, if there are any. Logs a failure. */
void debuginfo_backfill_start(struct debuginfo_store *store);
void debuginfo_backfill_stop(struct debuginfo_store *store);

/* ---- debuginfo_requests.c ------------------------------------------------------------------- */

int debuginfo_requests_new(struct hash_table **ret_requests);

/* Records that a file sent as @id was refused: no agent is asked for @id for an hour. */
void debuginfo_refused(struct debuginfo_store *store, const struct executable_id *id);

/* The store has a file of DEBUGINFO_FROM_USER now: agents may be asked for a better one at once. */
void debuginfo_came_from_user(struct debuginfo_store *store, const struct executable_id *id);

/* ---- others --------------------------------------------------------------------------------- */

/*
 * Reads the number of failed attempts for @key, and when the next is due. Returns 1 if found, 0 if
 * no attempt failed.
 */
int negative_cache_read(struct debuginfo_store *store, const struct debuginfo_key *key,
			uint32_t *ret_failures, uint64_t *ret_again_wall_ns);

/* Removes uploads in pieces that got no piece for a day, and their files. */
int debuginfo_sessions_sweep(struct debuginfo_store *store);

/* Sets the column "code" of rows of format 1, which lack it. */
void debuginfo_complete_format_1(struct debuginfo_store *store);

static inline void debuginfo_view_releasep(struct debuginfo_view *view)
{
	debuginfo_view_release(view);
}
