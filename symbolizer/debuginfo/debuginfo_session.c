/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A session is a row that describes the file, and a file in the data folder with the bytes received
 * so far. Its size is the offset to continue at. Nothing else must be consistent, so a session can
 * continue after a crash at any moment; whether all its bytes reached the disk is decided by the
 * hash at the end.
 */

#include <dirent.h>
#include <fcntl.h>
#include <gnutls/crypto.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>

#include "common/file.h"
#include "common/log.h"
#include "symbolizer/debuginfo/debuginfo_inspect.h"
#include "symbolizer/debuginfo/debuginfo_private.h"
#include "symbolizer/debuginfo/debuginfo_publish.h"

#define SESSION_PREFIX "debuginfo-session-"

/* An interrupted pipeline is started again within a day, or not at all. */
#define SESSION_LIFE_NS (24 * 3600 * NSEC_PER_SEC)

/* Each session has a file, which may have the size of the largest upload. */
#define MAX_SESSIONS 1024

struct debuginfo_piece {
	struct debuginfo_store *store;
	struct debuginfo_session session;
	uint64_t first_offset; /* of the file, where the piece begins */
	int fd;
};

static int session_path(const struct debuginfo_store *store, const char *name, char **ret_path)
{
	return asprintf(ret_path, "%s/" SESSION_PREFIX "%s", store->folder, name) < 0 ? -ENOMEM : 0;
}

/* Only names that we generate become part of a path. */
static bool is_session_name(const char *name)
{
	return strlen(name) == DEBUGINFO_SESSION_NAME_SIZE - 1 &&
	       strspn(name, "0123456789abcdef") == DEBUGINFO_SESSION_NAME_SIZE - 1;
}

static int read_row(sqlite3_stmt *row, struct debuginfo_session *ret_session)
{
	struct bytes_view identity = sqlite_blob(row, 2);
	struct bytes_view sha256 = sqlite_blob(row, 6);
	struct debuginfo_session session = {
		.origin = (enum debuginfo_origin)sqlite3_column_int(row, 4),
		.size_bytes = (uint64_t)sqlite3_column_int64(row, 5),
	};

	if (sha256.size != sizeof(session.sha256) || !is_session_name(sqlite_text(row, 0)) ||
	    strlen(sqlite_text(row, 3)) >= sizeof(session.source_path) ||
	    executable_id_set(&session.id, (unsigned int)sqlite3_column_int(row, 1), identity.data,
			      identity.size) < 0)
		return -EIO;
	(void)snprintf(session.name, sizeof(session.name), "%s", sqlite_text(row, 0));
	(void)snprintf(session.source_path, sizeof(session.source_path), "%s", sqlite_text(row, 3));
	memcpy(session.sha256, sha256.data, sizeof(session.sha256));
	*ret_session = session;
	return 1;
}

/* Returns 1 if found, 0 if there is none. */
static int read_session(struct sqlite_db *db, const char *name,
			struct debuginfo_session *ret_session)
{
	scoped(sqlite_resetp) sqlite3_stmt *row = NULL;
	int r;

	r = sqlite_query(db, SQL_SESSION_READ, &row, SQL_TEXT(name));
	return r > 0 ? read_row(row, ret_session) : r;
}

static int measure(const struct debuginfo_store *store, struct debuginfo_session *session)
{
	scoped_free char *path = NULL;
	struct stat status;

	if (session_path(store, session->name, &path) < 0)
		return -ENOMEM;
	session->offset = 0;
	if (stat(path, &status) == 0)
		session->offset = (uint64_t)status.st_size;
	else if (errno != ENOENT)
		return -errno;
	return 0;
}

int debuginfo_session_find(struct debuginfo_store *store, const char *name,
			   struct debuginfo_session *ret_session)
{
	struct debuginfo_session session;
	int r;

	if (!is_session_name(name))
		return 0;
	/*
	 * Uses the connection for reading, because this thread of the HTTP server must not wait for
	 * writers.
	 */
	(void)pthread_mutex_lock(&store->read_lock);
	r = read_session(store->reader, name, &session);
	(void)pthread_mutex_unlock(&store->read_lock);
	if (r <= 0)
		return r;
	r = measure(store, &session);
	if (r < 0)
		return r;
	*ret_session = session;
	return 1;
}

/* Returns 1 if the store has the same bytes, from this origin or a better one. */
static int is_stored(struct sqlite_db *db, const struct debuginfo_session *session)
{
	bool is_source = session->source_path[0] != '\0';
	const struct debuginfo_key key = {
		.id = session->id,
		.kind = DEBUGINFO_KIND_SOURCE,
		.path = session->source_path,
	};
	scoped(sqlite_resetp) sqlite3_stmt *row = NULL;
	struct stored_file file;
	int r;

	if (is_source) {
		r = debuginfo_db_best_own(db, &key, &file);
		return r <= 0 ? r
			      : file.entry.origin >= session->origin &&
					memcmp(file.entry.sha256, session->sha256,
					       sizeof(session->sha256)) == 0;
	}
	r = sqlite_query(db, SQL_ELVES_OF, &row, SQL_INT(session->id.kind),
			 SQL_BLOB(session->id.bytes, session->id.size));
	while (r > 0) {
		r = debuginfo_db_row(row, &file);
		if (r < 0)
			return r;
		if (file.entry.origin >= session->origin &&
		    memcmp(file.entry.sha256, session->sha256, sizeof(session->sha256)) == 0)
			return 1;
		r = sqlite_step(db, row);
	}
	return r;
}

/* Returns 1 if found, 0 if there is none. */
static int find_same(struct sqlite_db *db, struct debuginfo_session *session)
{
	scoped(sqlite_resetp) sqlite3_stmt *row = NULL;
	int r;

	r = sqlite_query(db, SQL_SESSION_SAME, &row, SQL_INT(session->id.kind),
			 SQL_BLOB(session->id.bytes, session->id.size),
			 SQL_TEXT(session->source_path), SQL_INT(session->origin),
			 SQL_INT(session->size_bytes),
			 SQL_BLOB(session->sha256, sizeof(session->sha256)));
	if (r > 0)
		(void)snprintf(session->name, sizeof(session->name), "%s", sqlite_text(row, 0));
	return r;
}

static int add_session(struct debuginfo_store *store, struct debuginfo_session *session,
		       char *message)
{
	uint8_t random[16];
	uint64_t count;
	int r;

	r = debuginfo_db_number(store->writer, SQL_SESSION_COUNT, &count);
	if (r == 0 && count >= MAX_SESSIONS)
		return debuginfo_fail(
			message, -ENOSPC,
			"%d uploads in pieces are unfinished already; an upload without "
			"a new piece for a day is removed",
			MAX_SESSIONS);
	if (r < 0 || gnutls_rnd(GNUTLS_RND_NONCE, random, sizeof(random)) < 0)
		return r < 0 ? r : -EIO;
	hex_encode(random, sizeof(random), session->name);
	return sqlite_run(store->writer, SQL_SESSION_ADD, SQL_TEXT(session->name),
			  SQL_INT(session->id.kind), SQL_BLOB(session->id.bytes, session->id.size),
			  SQL_TEXT(session->source_path), SQL_INT(session->origin),
			  SQL_INT(session->size_bytes),
			  SQL_BLOB(session->sha256, sizeof(session->sha256)),
			  SQL_INT(clock_wall_ns(store->clock)));
}

/* The caller holds the write lock. Returns 1 if begun or found, 0 if the file is not needed. */
static int begin_session(struct debuginfo_store *store, struct debuginfo_session *session,
			 char *message)
{
	int r;

	r = is_stored(store->writer, session);
	if (r < 0)
		return r;
	if (r > 0)
		return debuginfo_fail(message, 0, "this file is stored already");
	r = find_same(store->writer, session);
	if (r == 0)
		r = add_session(store, session, message);
	return r < 0 ? r : 1;
}

/* Removes the row first: a file without a row is removed at the next start. */
static int forget_session(struct debuginfo_store *store, const char *name)
{
	scoped_free char *path = NULL;
	int r;

	debuginfo_write_begin(store);
	r = sqlite_run(store->writer, SQL_SESSION_REMOVE, SQL_TEXT(name));
	debuginfo_write_end(store);
	if (r == 0 && session_path(store, name, &path) == 0)
		(void)unlink(path);
	return r;
}

/* The bytes that all unfinished uploads have received. */
static uint64_t received_bytes(const struct debuginfo_store *store)
{
	DIR *folder = opendir(store->folder);
	const struct dirent *entry;
	struct stat status;
	uint64_t bytes = 0;

	if (!folder)
		return 0;
	while ((entry = readdir(folder)))
		if (strncmp(entry->d_name, SESSION_PREFIX, strlen(SESSION_PREFIX)) == 0 &&
		    fstatat(dirfd(folder), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) == 0)
			bytes += (uint64_t)status.st_size;
	(void)closedir(folder);
	return bytes;
}

/* Whether the disk has room for what all unfinished uploads, also the new one, announced. */
static int check_room_of_all(struct debuginfo_store *store, char *message)
{
	uint64_t received = received_bytes(store);
	uint64_t announced = 0;
	int r;

	debuginfo_write_begin(store);
	r = debuginfo_db_number(store->writer, SQL_SESSION_BYTES, &announced);
	debuginfo_write_end(store);
	if (r < 0)
		return r;
	return debuginfo_check_room(store, announced > received ? announced - received : 0,
				    message);
}

int debuginfo_session_begin(struct debuginfo_store *store, struct debuginfo_session *session,
			    char ret_message[DEBUGINFO_MESSAGE_SIZE])
{
	uint64_t limit =
		session->source_path[0] ? DEBUGINFO_MAX_SOURCE_BYTES : DEBUGINFO_MAX_FILE_BYTES;
	int r;

	ret_message[0] = '\0';
	if (session->id.kind == EXECUTABLE_ID_NONE)
		return debuginfo_fail(ret_message, -EINVAL, "an upload needs a build-ID");
	if (session->size_bytes > limit)
		return debuginfo_fail(ret_message, -EFBIG, "the file has more than %" PRIu64 " MiB",
				      limit / MIB);
	(void)debuginfo_sessions_sweep(store);
	debuginfo_write_begin(store);
	r = begin_session(store, session, ret_message);
	debuginfo_write_end(store);
	if (r > 0)
		r = measure(store, session) < 0 ? -EIO : 1;
	if (r > 0 && check_room_of_all(store, ret_message) < 0) {
		/* Otherwise the bytes that never arrive would be reserved for a day. */
		if (session->offset == 0)
			(void)forget_session(store, session->name);
		r = -ENOSPC;
	}
	if (r < 0 && ret_message[0] == '\0')
		return debuginfo_fail_errno(ret_message, r, "cannot begin the upload");
	return r;
}

/* Marks the session as in use. Returns 1, or -EBUSY if another thread uses it. */
static int take_session(struct debuginfo_store *store, const char *name)
{
	char key[DEBUGINFO_SESSION_NAME_SIZE] = "";
	int r;

	(void)snprintf(key, sizeof(key), "%s", name);
	(void)pthread_mutex_lock(&store->session_lock);
	r = hash_table_insert(store->sessions_in_use, key, NULL);
	(void)pthread_mutex_unlock(&store->session_lock);
	return r == 0 || r == -ENOSPC ? -EBUSY : r;
}

static void leave_session(struct debuginfo_store *store, const char *name)
{
	char key[DEBUGINFO_SESSION_NAME_SIZE] = "";

	(void)snprintf(key, sizeof(key), "%s", name);
	(void)pthread_mutex_lock(&store->session_lock);
	(void)hash_table_remove(store->sessions_in_use, key);
	(void)pthread_mutex_unlock(&store->session_lock);
}

int debuginfo_session_remove(struct debuginfo_store *store, const char *name)
{
	struct debuginfo_session session;
	int r;

	r = debuginfo_session_find(store, name, &session);
	if (r <= 0)
		return r;
	r = take_session(store, name);
	if (r < 0)
		return r;
	r = forget_session(store, name);
	leave_session(store, name);
	return r < 0 ? r : 1;
}

struct debuginfo_piece *debuginfo_piece_free(struct debuginfo_piece *piece)
{
	if (!piece)
		return NULL;
	if (piece->session.name[0])
		leave_session(piece->store, piece->session.name);
	scoped_close(&piece->fd);
	free(piece);
	return NULL;
}

/* Compares the size of the file: another piece may have been stored since the lookup. */
static int open_end(struct debuginfo_piece *piece, uint64_t offset)
{
	scoped_free char *path = NULL;
	off_t end;

	if (session_path(piece->store, piece->session.name, &path) < 0)
		return -ENOMEM;
	piece->fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (piece->fd < 0)
		return -errno;
	end = lseek(piece->fd, 0, SEEK_END);
	if (end < 0)
		return -errno;
	piece->session.offset = piece->first_offset = (uint64_t)end;
	return (uint64_t)end == offset ? 1 : -ESPIPE;
}

int debuginfo_piece_open(struct debuginfo_store *store, const char *name, uint64_t offset,
			 struct debuginfo_piece **ret_piece)
{
	scoped(debuginfo_piece_freep) struct debuginfo_piece *piece = calloc(1, sizeof(*piece));
	struct debuginfo_session session;
	int r;

	if (!piece)
		return -ENOMEM;
	piece->fd = -1;
	piece->store = store;
	r = debuginfo_session_find(store, name, &session);
	if (r <= 0)
		return r;
	r = take_session(store, name);
	if (r < 0)
		return r;
	piece->session = session;
	r = open_end(piece, offset);
	if (r < 0)
		return r;
	*ret_piece = take_ptr(piece);
	return 1;
}

/* Discards the session, unless another piece had the first bytes of the file. */
static void refuse_first_bytes(struct debuginfo_piece *piece)
{
	debuginfo_refused(piece->store, &piece->session.id);
	if (piece->first_offset == 0)
		(void)forget_session(piece->store, piece->session.name);
}

int debuginfo_piece_append(struct debuginfo_piece *piece, struct bytes_view data,
			   char ret_message[DEBUGINFO_MESSAGE_SIZE])
{
	struct debuginfo_session *session = &piece->session;
	int r;

	if (data.size > session->size_bytes - MIN(session->offset, session->size_bytes))
		return debuginfo_fail(ret_message, -EBADMSG,
				      "the piece ends beyond the %" PRIu64 " bytes of the file",
				      session->size_bytes);
	r = debuginfo_check_first_bytes(session->source_path, session->offset, data, ret_message);
	if (r < 0) {
		refuse_first_bytes(piece);
		return r;
	}
	r = debuginfo_check_room(piece->store, data.size, ret_message);
	if (r < 0)
		return r;
	r = write_all(piece->fd, data.data, data.size);
	if (r < 0)
		return debuginfo_fail_errno(ret_message, r,
					    "cannot keep the upload in the data folder");
	session->offset += data.size;
	return 0;
}

uint64_t debuginfo_piece_offset(const struct debuginfo_piece *piece)
{
	return piece->session.offset;
}

static int check_sha256(const struct debuginfo_piece *piece, char *message)
{
	uint8_t sha256[DEBUGINFO_SHA256_BYTES];
	int r;

	r = debuginfo_sha256_of_fd(piece->fd, piece->session.size_bytes, sha256);
	if (r < 0)
		return debuginfo_fail_errno(message, r, "cannot read the upload back");
	if (memcmp(sha256, piece->session.sha256, sizeof(sha256)) != 0)
		return debuginfo_fail(
			message, -EBADMSG,
			"the SHA-256 of the file differs from the announced one; begin again");
	return 0;
}

static bool can_be_tried_again(int error)
{
	return error < 0 && error != -EBADMSG && error != -EFBIG && error != -EINVAL;
}

static void touch(struct debuginfo_store *store, const char *name)
{
	/* Errors are ignored: on a full disk the piece may still fit. */
	debuginfo_write_begin(store);
	(void)sqlite_run(store->writer, SQL_SESSION_TOUCH, SQL_TEXT(name),
			 SQL_INT(clock_wall_ns(store->clock)));
	debuginfo_write_end(store);
}

int debuginfo_piece_commit(struct debuginfo_piece *piece, struct debuginfo_entry *ret_entry,
			   char ret_message[DEBUGINFO_MESSAGE_SIZE])
{
	const struct debuginfo_session *session = &piece->session;
	const struct debuginfo_arrival arrival = {
		.id = session->id,
		.origin = session->origin,
		.source_path = session->source_path,
		.fd = piece->fd,
		.size = session->size_bytes,
	};
	int r;

	ret_message[0] = '\0';
	if (session->offset < session->size_bytes) {
		touch(piece->store, session->name);
		return debuginfo_fail(ret_message, -EAGAIN,
				      "%" PRIu64 " of %" PRIu64 " bytes are received",
				      session->offset, session->size_bytes);
	}
	r = check_sha256(piece, ret_message);
	if (r == 0)
		r = debuginfo_publish(piece->store, &arrival, ret_entry, ret_message);
	if (!can_be_tried_again(r))
		(void)forget_session(piece->store, session->name);
	return r;
}

static int next_stale(struct debuginfo_store *store, char ret_name[DEBUGINFO_SESSION_NAME_SIZE])
{
	uint64_t now = clock_wall_ns(store->clock);
	scoped(sqlite_resetp) sqlite3_stmt *row = NULL;
	int r;

	debuginfo_write_begin(store);
	r = sqlite_query(store->writer, SQL_SESSION_STALE, &row,
			 SQL_INT(now > SESSION_LIFE_NS ? now - SESSION_LIFE_NS : 0));
	if (r > 0)
		(void)snprintf(ret_name, DEBUGINFO_SESSION_NAME_SIZE, "%s", sqlite_text(row, 0));
	sqlite_resetp(&row);
	debuginfo_write_end(store);
	return r;
}

/* Removes files of sessions without a row. */
static void remove_orphans(struct debuginfo_store *store)
{
	DIR *folder = opendir(store->folder);
	const struct dirent *entry;
	struct debuginfo_session session;

	if (!folder)
		return;
	while ((entry = readdir(folder)))
		if (strncmp(entry->d_name, SESSION_PREFIX, strlen(SESSION_PREFIX)) == 0 &&
		    debuginfo_session_find(store, entry->d_name + strlen(SESSION_PREFIX),
					   &session) == 0)
			(void)unlinkat(dirfd(folder), entry->d_name, 0);
	(void)closedir(folder);
}

int debuginfo_sessions_sweep(struct debuginfo_store *store)
{
	char name[DEBUGINFO_SESSION_NAME_SIZE];
	int r;

	while ((r = next_stale(store, name)) > 0) {
		r = debuginfo_session_remove(store, name);
		if (r == -EBUSY)
			return 0;
		if (r < 0)
			return r;
	}
	if (r == 0)
		remove_orphans(store);
	return r;
}
