/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Files by identity, in SQLite (debuginfo.db): ELF files and source files. Content is kept as
 * independent zstd frames of 512 KiB, one row each, so that uploads stream in, parts are read
 * without what stands before them, frames are sent as they are, and no blob limit applies. Equal
 * content is kept once.
 *
 * One identity may have several ELF files. What one is good for is its kind:
 *
 *   NAMES       symbols or more: what functions are named from
 *   DEBUGINFO   what debuggers want beside the executable: debug sections, or symbols without code
 *   EXECUTABLE  has the code
 *   SPLIT       what the compiler split off its DWARF: a .dwp, or the .dwo of one unit
 *
 * Of each kind there is a best file: by origin (a pipeline's word counts more than an upstream
 * server's, that more than an agent's, and least counts what an agent sent from a file that others
 * than root can write: its build-ID may be forged), then by richness. A file stays as long as it is
 * the best of some kind, or richer than a better origin's; what is neither goes when a better one
 * comes. An upload by an agent therefore never outranks one by a pipeline. Thread-safe.
 */

#include "common/arena.h"
#include "common/bytes.h"
#include "common/clock.h"
#include "common/elf/richness.h"
#include "common/executable_id.h"
#include "common/hash.h"
#include "common/scoped.h"

struct debuginfo_store;
struct debuginfo_upload;

/* The order is that of trust; the numbers stand in the database. */
enum debuginfo_origin {
	DEBUGINFO_FROM_USER = 0, /* an agent sent it, from a file that others than root can write */
	DEBUGINFO_FROM_AGENT = 1,
	DEBUGINFO_FROM_UPSTREAM = 2,
	DEBUGINFO_FROM_PIPELINE = 3,
};

enum debuginfo_kind {
	DEBUGINFO_KIND_NAMES,
	DEBUGINFO_KIND_DEBUGINFO,
	DEBUGINFO_KIND_EXECUTABLE,
	DEBUGINFO_KIND_SOURCE,
	DEBUGINFO_KIND_SPLIT,
};

/* The largest file taken. Chromium with full debuginfo is about 5 GB. */
#define DEBUGINFO_MAX_FILE_BYTES (16 * GIB)

/* The largest source file; generated ones have some megabytes. */
#define DEBUGINFO_MAX_SOURCE_BYTES (64 * MIB)

/* Of a source file, with the NUL. */
#define DEBUGINFO_MAX_PATH 4096

#define DEBUGINFO_SHA256_BYTES 32

/* What is looked for. */
struct debuginfo_key {
	struct executable_id id;
	enum debuginfo_kind kind;
	const char *path; /* of a source file, canonical; else "" */
};

struct debuginfo_entry {
	struct executable_id id;
	enum debuginfo_origin origin;
	enum debuginfo_richness richness;
	bool is_source;
	bool is_split; /* split DWARF */
	bool has_code;
	uint32_t n_files;      /* 1; in a list, of all source files of an identity */
	uint64_t size_bytes;   /* of the file */
	uint64_t stored_bytes; /* compressed */
	uint64_t uploaded_wall_ns;
	uint64_t first_used_wall_ns; /* 0 never */
	uint64_t last_used_wall_ns;  /* 0 never */
	uint64_t generation;         /* changes whenever the best file of an identity changes */
	struct hash128 hash;         /* of the content */
	uint8_t sha256[DEBUGINFO_SHA256_BYTES]; /* of the content; zeros: not known (format 1) */
};

/* -EBUSY when another server has the folder open. Removes what uploads left over that a crash
 * interrupted. */
int debuginfo_store_open(const char *folder, const struct clock *clock,
			 struct debuginfo_store **ret_store);
struct debuginfo_store *debuginfo_store_free(struct debuginfo_store *store);

#define DEBUGINFO_MESSAGE_SIZE 256

/*
 * The identity has to be in the file: its GNU or Go note, or for TEXT the hash of its .text, which
 * only a file that has no .text bytes (objcopy --only-keep-debug) need not match. Split DWARF has
 * no identity: its sender is believed, and one of another program has no unit that the program asks
 * for. There is one split file of an identity and origin, the last that came.
 *
 * An upload: begin, append in any pieces, then commit (or free, which forgets all of it). The bytes
 * go to a temporary file in the data folder and are checked at the commit: it is an ELF file,
 * complete (section contents within the file), its own identity is @id, and it holds symbols (or at
 * least code, unless an agent sent it). Errors carry a message for the client: -EBADMSG not what it
 * claims, -EFBIG, -ENOSPC, -EDQUOT ... Commit: 1 stored, 0 nothing better than what is there (the
 * message says so).
 */
int debuginfo_upload_begin(struct debuginfo_store *store, const struct executable_id *id,
			   enum debuginfo_origin origin, struct debuginfo_upload **ret_upload,
			   char ret_message[DEBUGINFO_MESSAGE_SIZE]);

/* What comes is a source file of @id, whose path in the debuginfo is @path (raw or canonical). To
 * be called right after begin. -EINVAL with a message when that is no absolute path. */
int debuginfo_upload_as_source(struct debuginfo_upload *upload, const char *path,
			       char ret_message[DEBUGINFO_MESSAGE_SIZE]);

/* Whether @bytes more fit on the disk, which a client wants to know before it sends them. 0, or
 * -ENOSPC with a message. */
int debuginfo_check_room(struct debuginfo_store *store, uint64_t bytes,
			 char ret_message[DEBUGINFO_MESSAGE_SIZE]);
int debuginfo_upload_append(struct debuginfo_upload *upload, struct bytes_view data,
			    char ret_message[DEBUGINFO_MESSAGE_SIZE]);
int debuginfo_upload_commit(struct debuginfo_upload *upload, struct debuginfo_entry *ret_entry,
			    char ret_message[DEBUGINFO_MESSAGE_SIZE]);
struct debuginfo_upload *debuginfo_upload_free(struct debuginfo_upload *upload);

/*
 * An upload in pieces, for what a connection cannot carry at once: it has a name, survives restarts
 * of client and server, and goes away when nobody went on with it for a day.
 */
#define DEBUGINFO_SESSION_NAME_SIZE 33

struct debuginfo_session {
	char name[DEBUGINFO_SESSION_NAME_SIZE]; /* hex */
	struct executable_id id;
	enum debuginfo_origin origin;
	char source_path[DEBUGINFO_MAX_PATH]; /* "": an ELF file */
	uint64_t size_bytes;                  /* of the whole file */
	uint64_t offset;                      /* so much is here */
	uint8_t sha256[DEBUGINFO_SHA256_BYTES];
};

/*
 * Begins the upload that @session describes (all but name and offset), or finds the one that was
 * begun with the same words, so that a client that lost everything goes on. 1 begun or found, 0
 * such a file is not needed (the message says why). -EINVAL, -EFBIG, -ENOSPC with a message.
 */
int debuginfo_session_begin(struct debuginfo_store *store, struct debuginfo_session *session,
			    char ret_message[DEBUGINFO_MESSAGE_SIZE]);

/* 1 found, 0 none of this name. */
int debuginfo_session_find(struct debuginfo_store *store, const char *name,
			   struct debuginfo_session *ret_session);

/* Forgets it. 1 done, 0 none of this name, -EBUSY a piece is on its way. */
int debuginfo_session_remove(struct debuginfo_store *store, const char *name);

/*
 * One piece: open at an offset (which has to be where the file ends so far), append, close. One at
 * a time: -EBUSY. 1 open, 0 no such session; -ESPIPE another offset.
 */
struct debuginfo_piece;
int debuginfo_piece_open(struct debuginfo_store *store, const char *name, uint64_t offset,
			 struct debuginfo_piece **ret_piece);
int debuginfo_piece_append(struct debuginfo_piece *piece, struct bytes_view data,
			   char ret_message[DEBUGINFO_MESSAGE_SIZE]);
struct debuginfo_piece *debuginfo_piece_free(struct debuginfo_piece *piece);

/* So much is here, with this piece. */
uint64_t debuginfo_piece_offset(const struct debuginfo_piece *piece);

/*
 * With the last byte: compares the hash and does what debuginfo_upload_commit() does. -EAGAIN when
 * bytes are lacking. The session ends, unless it can be tried again (-ENOSPC and other errors of
 * ours).
 */
int debuginfo_piece_commit(struct debuginfo_piece *piece, struct debuginfo_entry *ret_entry,
			   char ret_message[DEBUGINFO_MESSAGE_SIZE]);

/* The best file of @id for names: 1 found, 0 none. Cheap (one indexed lookup). */
int debuginfo_find(struct debuginfo_store *store, const struct executable_id *id,
		   struct debuginfo_entry *ret_entry);
int debuginfo_find_kind(struct debuginfo_store *store, const struct debuginfo_key *key,
			struct debuginfo_entry *ret_entry);

/*
 * Expands the best file of @id for names into memory (below 64 MiB) or an unlinked temporary file;
 * *ret_fd is at offset 0. 1 found, 0 none. -EIO when it is damaged: then it is removed, so that the
 * same file can be uploaded again.
 */
int debuginfo_open_file(struct debuginfo_store *store, const struct executable_id *id, int *ret_fd,
			struct debuginfo_entry *ret_entry);
int debuginfo_open_kind(struct debuginfo_store *store, const struct debuginfo_key *key, int *ret_fd,
			struct debuginfo_entry *ret_entry);

/* Where in a descriptor an answer stands. */
struct debuginfo_range {
	uint64_t offset;
	uint64_t size;
};

/* The same, of which only @range is there (at its place; the rest are holes). -ERANGE when the file
 * is shorter. */
int debuginfo_open_part(struct debuginfo_store *store, const struct debuginfo_key *key,
			const struct debuginfo_range *range, int *ret_fd,
			struct debuginfo_entry *ret_entry);

/* The file as it is stored: zstd frames one after another, *ret_size bytes. */
int debuginfo_open_frames(struct debuginfo_store *store, const struct debuginfo_key *key,
			  int *ret_fd, uint64_t *ret_size, struct debuginfo_entry *ret_entry);

/*
 * The bytes of a section as they stand in the file, with their compression header where they have
 * one; of the executable where the debuginfo has but its header (NOBITS). 1 found, 0 no file has
 * contents for it.
 */
int debuginfo_open_section(struct debuginfo_store *store, const struct executable_id *id,
			   const char *name, int *ret_fd, struct debuginfo_range *ret_range);

/* All ELF files, and one entry for all source files of an identity. */
int debuginfo_list(struct debuginfo_store *store, struct arena *arena,
		   struct debuginfo_entry **ret_entries, size_t *ret_count);

/* The same of one identity. */
int debuginfo_list_of(struct debuginfo_store *store, const struct executable_id *id,
		      struct arena *arena, struct debuginfo_entry **ret_entries, size_t *ret_count);

/* Removes all files of @id: 1 removed, 0 was not there. */
int debuginfo_remove(struct debuginfo_store *store, const struct executable_id *id);

struct debuginfo_check {
	uint32_t n_files;
	uint32_t n_damaged; /* removed */
	uint64_t size_bytes;
};

/* Reads all files of @id and compares every hash; what is damaged is removed, as when it is read. 1
 * checked, 0 nothing there. */
int debuginfo_check(struct debuginfo_store *store, const struct executable_id *id,
		    struct debuginfo_check *ret_check);

/*
 * Bounds what is stored, in compressed bytes: an upload that takes more than @quota_bytes (0: no
 * bound) makes room down to @low_bytes. What can be had again goes first (from upstream servers and
 * agents), the least recently used before others, what pipelines uploaded last, and what is being
 * read never. An agent's or upstream file never drives a pipeline's out.
 */
void debuginfo_store_set_quota(struct debuginfo_store *store, uint64_t quota_bytes,
			       uint64_t low_bytes);

struct debuginfo_totals {
	uint64_t stored_bytes;
	uint64_t n_evicted; /* files, since the start */
};
struct debuginfo_totals debuginfo_store_totals(struct debuginfo_store *store);

/* Rises whenever anything was stored or removed: caches of names compare it. */
uint64_t debuginfo_generation(struct debuginfo_store *store);

#define DEBUGINFO_DO_NOT_ASK 0
#define DEBUGINFO_ASK        1
#define DEBUGINFO_ASK_TRUSTED                                                                      \
	2 /* what is there is DEBUGINFO_FROM_USER: only something better is of use */

/*
 * Whether this agent should be asked for @id now: only when nothing is stored, or nothing but what
 * users can write, and no agent was asked within the last ten minutes, or within the last hour when
 * what came was refused. Remembers the asking.
 */
int debuginfo_want(struct debuginfo_store *store, const struct executable_id *id,
		   const uint8_t agent_id[16]);

/* Where else @id was looked for. Times are those from which it may be again; 0: it was not. */
struct debuginfo_search {
	uint64_t agents_again_wall_ns; /* an agent was asked, or what one sent was refused */
	bool has_upstream;             /* other servers are asked, if there is a reason to */
	uint32_t n_upstream_misses;    /* in a row: none of them had it, or could be asked */
	uint64_t upstream_again_wall_ns;
};
int debuginfo_search_of(struct debuginfo_store *store, const struct executable_id *id,
			struct debuginfo_search *ret_search);

/*
 * The spelling under which a source file is kept: absolute, without empty, "." and ".." segments.
 * -EINVAL for an empty path or one that is too long. It is a key, never a path on this machine.
 */
int debuginfo_canonical_path(const char *path, char ret_path[DEBUGINFO_MAX_PATH]);

/* "agent", "upstream", "pipeline". */
const char *debuginfo_origin_name(enum debuginfo_origin origin);

DEFINE_SCOPED(struct debuginfo_store *, debuginfo_store_free);
DEFINE_SCOPED(struct debuginfo_upload *, debuginfo_upload_free);
DEFINE_SCOPED(struct debuginfo_piece *, debuginfo_piece_free);
