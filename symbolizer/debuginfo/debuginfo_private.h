/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What the files of this folder call of each other, besides the database.
 */

#include "symbolizer/debuginfo/debuginfo_db.h"

/* ---- debuginfo_change.c: one change of what is stored, in one transaction -------------------- */

/* With a transaction open on the writer. 1 changed: commit; 0 nothing to change, or a negative
 * errno: roll back. */
typedef int (*debuginfo_change_function)(struct debuginfo_store *store, void *arg);

/* Takes the write lock; a change raises the generation and gives free space back. Returns what the
 * function did. */
int debuginfo_change(struct debuginfo_store *store, debuginfo_change_function function, void *arg);

/* Removes one file. */
int debuginfo_remove_file(struct debuginfo_store *store, int64_t file);

/* Content that no file has: what failed or was interrupted. */
int debuginfo_remove_unused(struct debuginfo_store *store);

/* ---- debuginfo_quota.c ------------------------------------------------------------------------
 */

/* Makes room after @file has come. -EDQUOT when it had to go itself. */
int debuginfo_enforce_quota(struct debuginfo_store *store, int64_t file,
			    enum debuginfo_origin origin);

/* Whether @size more stored bytes of @origin can be had at all. 0, or -EDQUOT. */
int debuginfo_quota_allows(struct debuginfo_store *store, enum debuginfo_origin origin,
			   uint64_t size);

void debuginfo_pin(struct debuginfo_store *store, int64_t content);
void debuginfo_unpin(struct debuginfo_store *store, int64_t content);

/* ---- debuginfo_rank.c: which files of an identity are worth keeping ---------------------------
 */

/* The file is the best of @kind, or richer than what a better origin has: no other one is at least
 * as good in both. */
bool debuginfo_is_of_kind(const struct debuginfo_entry *entry, enum debuginfo_kind kind);
bool debuginfo_is_needed(const struct debuginfo_entry *entry, const struct debuginfo_entry *others,
			 size_t n_others);

/* ---- debuginfo_view.c: reading a stored file, whole or in parts -------------------------------
 */

struct debuginfo_view {
	struct debuginfo_store *store;
	struct sqlite_db *db; /* in a read transaction: what is removed meanwhile is still here */
	struct stored_file file;
	int fd;           /* what was read stands at its place; the rest are holes */
	uint8_t *present; /* a byte per chunk */
	uint64_t n_chunks;
	bool in_memory; /* the descriptor */
	bool damaged;
	struct bytes plain;
};

/* The best file of @key. 1 found, 0 none. Release in any case. */
int debuginfo_view_open(struct debuginfo_store *store, const struct debuginfo_key *key,
			struct debuginfo_view *view);
int debuginfo_view_open_id(struct debuginfo_store *store, int64_t file,
			   struct debuginfo_view *view);

/* Sees to it that these bytes are in view->fd. -ERANGE beyond the end; -EIO damaged. */
int debuginfo_view_read(struct debuginfo_view *view, uint64_t offset, uint64_t size);

/* All of it, compared with the hash of the whole. */
int debuginfo_view_read_all(struct debuginfo_view *view);

/* The compressed frames into @fd, one after another. */
int debuginfo_view_copy_frames(struct debuginfo_view *view, int fd);

/* Headers and section names are in view->fd afterwards, so that elf_file_open() can read them. */
int debuginfo_view_read_headers(struct debuginfo_view *view);

/* The descriptor is the caller's from now on, at offset 0. */
int debuginfo_view_take_fd(struct debuginfo_view *view);

/* Removes the file when it was found to be damaged. */
void debuginfo_view_release(struct debuginfo_view *view);

/* A file that nobody else can see and that goes away with its descriptor; in memory when small. */
int debuginfo_open_unlinked(const char *folder, uint64_t size_bytes);

/* ---- debuginfo_content.c: content on its way into the database --------------------------------
 */

struct new_content {
	int64_t id;  /* 0: there is none, or it is published and no longer ours to remove */
	bool shared; /* it was there already */
	uint64_t size;
	uint64_t stored_bytes;
	uint8_t sha256[DEBUGINFO_SHA256_BYTES];
	struct hash128 hash;
};

int debuginfo_sha256_of_fd(int fd, uint64_t size, uint8_t ret_sha256[DEBUGINFO_SHA256_BYTES]);

/* Stores the @size bytes of @fd, incomplete until content_publish(); finds equal content. */
int debuginfo_content_store(struct debuginfo_store *store, int fd, uint64_t size,
			    struct new_content *ret_content);

/* In a transaction on the writer, right before a file row names it. */
int debuginfo_content_publish(struct debuginfo_store *store, struct new_content *content);

/* Of a failure. What cannot be removed now is, when the store is opened again. */
void debuginfo_content_forget(struct debuginfo_store *store, struct new_content *content);

/* ---- others ------------------------------------------------------------------------------------
 */

int debuginfo_asked_new(struct hash_table **ret_asked);

/* Remembers that what was sent as @id was of no use. */
void debuginfo_refused(struct debuginfo_store *store, const struct executable_id *id);

/* A file of DEBUGINFO_FROM_USER is there: a better one may be asked for at once. */
void debuginfo_came_from_user(struct debuginfo_store *store, const struct executable_id *id);

/* Uploads in pieces that nobody went on with for a day, and their files. */
int debuginfo_sessions_sweep(struct debuginfo_store *store);

/* The rows of format 1 do not say whether they have code. */
void debuginfo_complete_format_1(struct debuginfo_store *store);

/* For messages to clients. */
printf_like(3, 4) int debuginfo_fail(char *message, int error, const char *format, ...);
int debuginfo_fail_errno(char *message, int error, const char *what);

static inline void debuginfo_view_releasep(struct debuginfo_view *view)
{
	debuginfo_view_release(view);
}
