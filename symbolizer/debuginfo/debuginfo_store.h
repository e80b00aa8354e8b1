/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * ELF files by identity, in SQLite (debuginfo.db): content as independent zstd frames of 512 KiB,
 * one row each, so that uploads stream in, ranges stream out, and no blob limit applies. One
 * identity may have several files of different richness; a richer one replaces a poorer one of the
 * same or lower rank, never the other way: symbols < lines < full DWARF. The best file is one by a
 * pipeline where there is one, then the richest: an upload by an agent never outranks one by a
 * pipeline. Thread-safe.
 */

#include "common/arena.h"
#include "common/bytes.h"
#include "common/clock.h"
#include "common/executable_id.h"
#include "common/scoped.h"

struct debuginfo_store;
struct debuginfo_upload;

enum debuginfo_origin {
	DEBUGINFO_FROM_AGENT = 1,
	DEBUGINFO_FROM_PIPELINE = 2,
};

enum debuginfo_richness {
	DEBUGINFO_NOTHING = 0,
	DEBUGINFO_SYMBOLS = 1, /* .dynsym or .symtab with entries */
	DEBUGINFO_LINES = 2,   /* .debug_line without .debug_info */
	DEBUGINFO_DWARF = 3,   /* .debug_info */
};

/* The largest file taken. Chromium with full debuginfo is about 5 GB. */
#define DEBUGINFO_MAX_FILE_BYTES (8 * GIB)

struct debuginfo_entry {
	struct executable_id id;
	enum debuginfo_origin origin;
	enum debuginfo_richness richness;
	uint64_t size_bytes;   /* of the ELF file */
	uint64_t stored_bytes; /* compressed */
	uint64_t uploaded_wall_ns;
	uint64_t last_used_wall_ns; /* 0 never */
	uint64_t generation;        /* changes whenever the best file of an identity changes */
};

/* -EBUSY when another server has the folder open. Removes what uploads left over that a crash
 * interrupted. */
int debuginfo_store_open(const char *folder, const struct clock *clock,
			 struct debuginfo_store **ret_store);
struct debuginfo_store *debuginfo_store_free(struct debuginfo_store *store);

#define DEBUGINFO_MESSAGE_SIZE 256

/*
 * The identity has to be in the file: its GNU or Go note, or for TEXT the hash of its .text, which
 * only a file that has no .text bytes (objcopy --only-keep-debug) need not match.
 *
 * An upload: begin, append in any pieces, then commit (or free, which forgets all of it). The bytes
 * go to a temporary file in the data folder and are checked at the commit: it is an ELF file,
 * complete (section contents within the file), its own identity is @id, and it holds symbols.
 * Errors carry a message for the client: -EBADMSG not what it claims, -EFBIG, -ENOSPC ... Commit: 1
 * stored, 0 nothing better than what is there (the message says so).
 */
int debuginfo_upload_begin(struct debuginfo_store *store, const struct executable_id *id,
			   enum debuginfo_origin origin, struct debuginfo_upload **ret_upload,
			   char ret_message[DEBUGINFO_MESSAGE_SIZE]);
int debuginfo_upload_append(struct debuginfo_upload *upload, struct bytes_view data,
			    char ret_message[DEBUGINFO_MESSAGE_SIZE]);
int debuginfo_upload_commit(struct debuginfo_upload *upload, struct debuginfo_entry *ret_entry,
			    char ret_message[DEBUGINFO_MESSAGE_SIZE]);
struct debuginfo_upload *debuginfo_upload_free(struct debuginfo_upload *upload);

/* The best file of @id: 1 found, 0 none. Cheap (one indexed lookup). */
int debuginfo_find(struct debuginfo_store *store, const struct executable_id *id,
		   struct debuginfo_entry *ret_entry);

/*
 * Expands the best file of @id into memory (below 64 MiB) or an unlinked temporary file; *ret_fd is
 * at offset 0. 1 found, 0 none. -EIO when it is damaged: then it is removed, so that the same file
 * can be uploaded again.
 */
int debuginfo_open_file(struct debuginfo_store *store, const struct executable_id *id, int *ret_fd,
			struct debuginfo_entry *ret_entry);

int debuginfo_list(struct debuginfo_store *store, struct arena *arena,
		   struct debuginfo_entry **ret_entries, size_t *ret_count);

/* Removes all files of @id: 1 removed, 0 was not there. */
int debuginfo_remove(struct debuginfo_store *store, const struct executable_id *id);

/* Rises whenever anything was stored or removed: caches of names compare it. */
uint64_t debuginfo_generation(struct debuginfo_store *store);

/*
 * Whether this agent should be asked for @id now: only when nothing is stored, and no agent was
 * asked within the last ten minutes, or within the last hour when what came was refused. Remembers
 * the asking. 1 ask, 0 do not.
 */
int debuginfo_want(struct debuginfo_store *store, const struct executable_id *id,
		   const uint8_t agent_id[16]);

DEFINE_SCOPED(struct debuginfo_store *, debuginfo_store_free);
DEFINE_SCOPED(struct debuginfo_upload *, debuginfo_upload_free);
