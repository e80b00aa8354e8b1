/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Files by identity, in SQLite (debuginfo.db): ELF files and source files. Content is stored as
 * independent zstd frames of 512 KiB, one row each. Uploads are stored while they stream in, a part
 * is read without the frames before it, frames can be sent without recompression, and no blob
 * limit applies. Equal content is stored once.
 *
 * One identity may have several ELF files. The kind is the use of a file:
 *
 *   NAMES       symbols or more: the names of functions
 *   DEBUGINFO   for debuggers, besides the executable: debug sections, or symbols without code
 *   EXECUTABLE  has the code
 *   SPLIT       DWARF that the compiler split off: a .dwp, or the .dwo of one unit
 *
 * The best file of a kind is chosen by origin, then by richness. The origins, by trust: a build
 * pipeline, an upstream server, an agent, and last an agent that sent a file which others than root
 * can write, since its build-ID may be forged. A file is kept while it is the best of some kind, or
 * richer than the file of a better origin; otherwise it is removed when a better one is stored. An
 * upload by an agent therefore never replaces one by a pipeline. Thread-safe.
 *
 * An identity of the kind HTLHASH also finds the files of the identity under which a file with this
 * hash was uploaded. The better file of both is used.
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

/* In the order of trust. The numbers are stored in the database. */
enum debuginfo_origin {
	DEBUGINFO_FROM_USER = 0, /* an agent, from a file that others than root can write */
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

/* The largest file accepted. Chromium with full debuginfo has about 5 GB. */
#define DEBUGINFO_MAX_FILE_BYTES (16 * GIB)

/* The largest source file accepted. Generated ones have some megabytes. */
#define DEBUGINFO_MAX_SOURCE_BYTES (64 * MIB)

/* The longest path of a source file, with the NUL. */
#define DEBUGINFO_MAX_PATH 4096

#define DEBUGINFO_SHA256_BYTES 32

/* Selects a file. */
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
	uint32_t n_files;      /* 1, or the number of source files that this entry of a list sums */
	uint64_t size_bytes;   /* of the file */
	uint64_t stored_bytes; /* compressed */
	uint64_t uploaded_wall_ns;
	uint64_t first_used_wall_ns; /* 0: never */
	uint64_t last_used_wall_ns;  /* 0: never */
	uint64_t generation;         /* changes whenever the best file of an identity changes */
	struct hash128 hash;         /* of the content */
	uint8_t sha256[DEBUGINFO_SHA256_BYTES]; /* of the content; zeros: unknown (format 1) */
};

/*
 * Removes leftovers of uploads that a crash interrupted. -EBUSY: another server has the folder
 * open.
 */
int debuginfo_store_open(const char *folder, const struct clock *clock,
			 struct debuginfo_store **ret_store);
struct debuginfo_store *debuginfo_store_free(struct debuginfo_store *store);

#define DEBUGINFO_MESSAGE_SIZE 256

/*
 * An upload: begin, append pieces of any size, then commit (or free, which discards the upload).
 * The bytes are written to a temporary file in the data folder. The commit checks that the file is
 * an ELF file, that it is complete (section contents within the file), that its identity is @id,
 * and that it has symbols (or at least code, unless an agent sent it). Returns 1 if stored, 0 if
 * the stored files are at least as good (the message names them). Errors set a message for the
 * client: -EBADMSG the check failed, -EFBIG, -ENOSPC, -EDQUOT, ...
 *
 * The identity of a file is its GNU or Go note, or for TEXT the hash of its .text. A file without
 * .text bytes (objcopy --only-keep-debug) need not match the hash. Split DWARF has no identity, so
 * the sender is trusted; a split file of another program has no unit that the program refers to.
 * An identity has one split file per origin, the last one stored.
 */
int debuginfo_upload_begin(struct debuginfo_store *store, const struct executable_id *id,
			   enum debuginfo_origin origin, struct debuginfo_upload **ret_upload,
			   char ret_message[DEBUGINFO_MESSAGE_SIZE]);

/*
 * Declares the upload as a source file with the path @path in the debuginfo (raw or canonical).
 * Call it right after begin. -EINVAL with a message: the path is empty or too long.
 */
int debuginfo_upload_as_source(struct debuginfo_upload *upload, const char *path,
			       char ret_message[DEBUGINFO_MESSAGE_SIZE]);

/*
 * Checks whether uploads may write @bytes more to the disk, a part of which is kept free for
 * samples. 0, or -ENOSPC with a message.
 */
int debuginfo_check_room(struct debuginfo_store *store, uint64_t bytes,
			 char ret_message[DEBUGINFO_MESSAGE_SIZE]);
int debuginfo_upload_append(struct debuginfo_upload *upload, struct bytes_view data,
			    char ret_message[DEBUGINFO_MESSAGE_SIZE]);
int debuginfo_upload_commit(struct debuginfo_upload *upload, struct debuginfo_entry *ret_entry,
			    char ret_message[DEBUGINFO_MESSAGE_SIZE]);
struct debuginfo_upload *debuginfo_upload_free(struct debuginfo_upload *upload);

/*
 * An upload in pieces, over several connections. It has a name, survives restarts of client and
 * server, and is removed when it got no piece for a day.
 */
#define DEBUGINFO_SESSION_NAME_SIZE 33

struct debuginfo_session {
	char name[DEBUGINFO_SESSION_NAME_SIZE]; /* hex */
	struct executable_id id;
	enum debuginfo_origin origin;
	char source_path[DEBUGINFO_MAX_PATH]; /* "": an ELF file */
	uint64_t size_bytes;                  /* of the whole file */
	uint64_t offset;                      /* bytes received */
	uint8_t sha256[DEBUGINFO_SHA256_BYTES];
};

/*
 * Begins the upload that @session describes (all fields but name and offset), or finds a begun
 * upload with equal fields, so that a client that lost its state can continue. Sets name and
 * offset. Returns 1 if begun or found, 0 if the file is not needed (the message has the reason).
 * -EINVAL, -EFBIG, -ENOSPC with a message.
 */
int debuginfo_session_begin(struct debuginfo_store *store, struct debuginfo_session *session,
			    char ret_message[DEBUGINFO_MESSAGE_SIZE]);

/* Returns 1 if found, 0 if no session has this name. */
int debuginfo_session_find(struct debuginfo_store *store, const char *name,
			   struct debuginfo_session *ret_session);

/* Returns 1 if removed, 0 if no session has this name, -EBUSY while a piece is being received. */
int debuginfo_session_remove(struct debuginfo_store *store, const char *name);

/*
 * A piece: open it at the offset where the file ends so far, append, then commit or free. Returns 1
 * if open, 0 if there is no such session, -EBUSY if another piece is open, -ESPIPE if the file ends
 * at another offset.
 */
struct debuginfo_piece;
int debuginfo_piece_open(struct debuginfo_store *store, const char *name, uint64_t offset,
			 struct debuginfo_piece **ret_piece);
int debuginfo_piece_append(struct debuginfo_piece *piece, struct bytes_view data,
			   char ret_message[DEBUGINFO_MESSAGE_SIZE]);
struct debuginfo_piece *debuginfo_piece_free(struct debuginfo_piece *piece);

/* Returns the number of bytes received, including this piece. */
uint64_t debuginfo_piece_offset(const struct debuginfo_piece *piece);

/*
 * Call it after the last byte. Compares the hash, then does the same as debuginfo_upload_commit().
 * -EAGAIN: bytes are missing. The session ends, unless the client can retry (after -ENOSPC and
 * other errors of the server).
 */
int debuginfo_piece_commit(struct debuginfo_piece *piece, struct debuginfo_entry *ret_entry,
			   char ret_message[DEBUGINFO_MESSAGE_SIZE]);

/*
 * Finds the best file of @id for names. Returns 1 if found, 0 if there is none. Costs one indexed
 * lookup.
 */
int debuginfo_find(struct debuginfo_store *store, const struct executable_id *id,
		   struct debuginfo_entry *ret_entry);
int debuginfo_find_kind(struct debuginfo_store *store, const struct debuginfo_key *key,
			struct debuginfo_entry *ret_entry);

/*
 * Expands the best file of @id for names into memory (below 64 MiB) or an unlinked temporary file.
 * *ret_fd is at offset 0. Returns 1 if found, 0 if there is none. -EIO: the file is damaged, and
 * was removed, so that it can be uploaded again.
 */
int debuginfo_open_file(struct debuginfo_store *store, const struct executable_id *id, int *ret_fd,
			struct debuginfo_entry *ret_entry);
int debuginfo_open_kind(struct debuginfo_store *store, const struct debuginfo_key *key, int *ret_fd,
			struct debuginfo_entry *ret_entry);

/* A range of a file. */
struct debuginfo_range {
	uint64_t offset;
	uint64_t size;
};

/* The same, but only @range is expanded, and the rest are holes. -ERANGE: the file is shorter. */
int debuginfo_open_part(struct debuginfo_store *store, const struct debuginfo_key *key,
			const struct debuginfo_range *range, int *ret_fd,
			struct debuginfo_entry *ret_entry);

/* Opens the stored form of the file: zstd frames one after another, *ret_size bytes. */
int debuginfo_open_frames(struct debuginfo_store *store, const struct debuginfo_key *key,
			  int *ret_fd, uint64_t *ret_size, struct debuginfo_entry *ret_entry);

/*
 * Finds the bytes of a section, with the compression header if it is compressed. They come from the
 * executable if the section is NOBITS in the debuginfo. Returns 1 if found, 0 if no file has bytes
 * of the section.
 */
int debuginfo_open_section(struct debuginfo_store *store, const struct executable_id *id,
			   const char *name, int *ret_fd, struct debuginfo_range *ret_range);

/* A piece of machine code. The caller sets all fields but the last. */
struct debuginfo_code {
	uint64_t elf_addr;
	size_t size;
	uint8_t *bytes; /* room for @size bytes */
	size_t n_bytes; /* that were read; fewer than @size: the file does not have the others */
};

/*
 * Reads machine code of the executable. Returns 1, and sets *ret_machine (EM_...), or 0 if no file
 * with code is stored. -EBADMSG: the headers of the file are damaged.
 */
int debuginfo_read_code(struct debuginfo_store *store, const struct executable_id *id,
			struct debuginfo_code *pieces, size_t count, uint16_t *ret_machine);

/* Lists all ELF files, and for each identity one entry that sums its source files. */
int debuginfo_list(struct debuginfo_store *store, struct arena *arena,
		   struct debuginfo_entry **ret_entries, size_t *ret_count);

/* Does the same for one identity; for an htlhash, also for the identity of which it is an alias. */
int debuginfo_list_of(struct debuginfo_store *store, const struct executable_id *id,
		      struct arena *arena, struct debuginfo_entry **ret_entries, size_t *ret_count);

/* Lists the htlhashes that find the files of @id. */
int debuginfo_list_aliases(struct debuginfo_store *store, const struct executable_id *id,
			   struct arena *arena, struct executable_id **ret_ids, size_t *ret_count);

/* Removes all files of @id. Returns 1 if files were removed, 0 if there were none. */
int debuginfo_remove(struct debuginfo_store *store, const struct executable_id *id);

struct debuginfo_check {
	uint32_t n_files;
	uint32_t n_damaged; /* removed */
	uint64_t size_bytes;
};

/*
 * Reads all files of @id, compares every hash, and removes damaged files. Returns 1 if checked, 0
 * if there are no files.
 */
int debuginfo_check(struct debuginfo_store *store, const struct executable_id *id,
		    struct debuginfo_check *ret_check);

/*
 * Limits the stored (compressed) bytes. When an upload exceeds @quota_bytes (0: no limit), files
 * are evicted until @low_bytes are left. Files of upstream servers and agents, which can be fetched
 * again, are evicted first, the least recently used before others. Files of pipelines are evicted
 * last, and only for a file of a pipeline. Files that are being read are not evicted.
 */
void debuginfo_store_set_quota(struct debuginfo_store *store, uint64_t quota_bytes,
			       uint64_t low_bytes);

struct debuginfo_totals {
	uint64_t stored_bytes;
	uint64_t n_evicted; /* files, since the start */
};
struct debuginfo_totals debuginfo_store_totals(struct debuginfo_store *store);

/* Increases with every stored or removed file. Caches of names compare it. */
uint64_t debuginfo_generation(struct debuginfo_store *store);

#define DEBUGINFO_DO_NOT_ASK 0
#define DEBUGINFO_ASK        1
/* The stored file is DEBUGINFO_FROM_USER: only a file that others than root cannot write helps. */
#define DEBUGINFO_ASK_TRUSTED 2

/*
 * Decides whether to ask this agent for @id now: only if the store has no file, or only files that
 * others than root can write, and no agent was asked in the last ten minutes, nor in the hour after
 * an upload was refused. Records the request.
 */
int debuginfo_want(struct debuginfo_store *store, const struct executable_id *id,
		   const uint8_t agent_id[16]);

/* Sources that were asked for @id. Times are when they may be asked again, 0: not asked. */
struct debuginfo_search {
	uint64_t agents_again_wall_ns; /* after a request, or a refused upload */
	bool has_upstream;             /* upstream servers are configured */
	uint32_t n_upstream_misses;    /* consecutive failed attempts at all of them */
	uint64_t upstream_again_wall_ns;
};
int debuginfo_search_of(struct debuginfo_store *store, const struct executable_id *id,
			struct debuginfo_search *ret_search);

/*
 * Computes the path under which a source file is stored: absolute, without empty, "." and ".."
 * segments. It is a key, never a path on this machine. -EINVAL for an empty path or one that is too
 * long.
 */
int debuginfo_canonical_path(const char *path, char ret_path[DEBUGINFO_MAX_PATH]);

/* "agent-user", "agent", "upstream", "pipeline". */
const char *debuginfo_origin_name(enum debuginfo_origin origin);

DEFINE_SCOPED(struct debuginfo_store *, debuginfo_store_free);
DEFINE_SCOPED(struct debuginfo_upload *, debuginfo_upload_free);
DEFINE_SCOPED(struct debuginfo_piece *, debuginfo_piece_free);
