/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>

#include "common/file.h"
#include "common/log.h"
#include "common/vec.h"
#include "common/zstd_frame.h"
#include "symbolizer/debuginfo/debuginfo_db.h"
#include "symbolizer/debuginfo/debuginfo_inspect.h"

/*
 * An upload on its way in. The bytes gather in a temporary file; only what passed the checks is
 * compressed into the database, a few chunks per transaction so that others need not wait, under a
 * file row that does not count until the last transaction marks it complete and removes what it
 * replaces.
 */

#define CHUNKS_PER_TRANSACTION 16

#define CHUNK_ZSTD_LEVEL 3

struct debuginfo_upload {
	struct debuginfo_store *store;
	struct executable_id id;
	enum debuginfo_origin origin;
	char *path;
	int fd;
	uint64_t size;
};

/* The file row being filled. */
struct new_file {
	struct debuginfo_upload *upload;
	enum debuginfo_richness richness;
	int64_t id; /* 0: there is none, or it is published and no longer ours to remove */
	uint64_t uploaded_wall_ns;
	uint64_t stored_bytes;
	uint64_t n_chunks;
	struct bytes hashes; /* of all chunks, one after the other */
};

struct chunk {
	struct hash128 hash;
	struct bytes content;
};

printf_like(3, 4) static int fail(char *message, int error, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	(void)vsnprintf(message, DEBUGINFO_MESSAGE_SIZE, format, args);
	va_end(args);
	return error;
}

static int fail_errno(char *message, int error, const char *what)
{
	char text[128];

	return fail(message, error, "%s: %s", what, strerror_r(-error, text, sizeof(text)));
}

int debuginfo_upload_begin(struct debuginfo_store *store, const struct executable_id *id,
			   enum debuginfo_origin origin, struct debuginfo_upload **ret_upload,
			   char ret_message[DEBUGINFO_MESSAGE_SIZE])
{
	scoped(debuginfo_upload_freep) struct debuginfo_upload *upload = calloc(1, sizeof(*upload));
	scoped_free char *path = NULL;

	ret_message[0] = '\0';
	if (!upload)
		return fail_errno(ret_message, -ENOMEM, "cannot begin the upload");
	upload->store = store;
	upload->id = *id;
	upload->origin = origin;
	upload->fd = -1;
	if (id->kind == EXECUTABLE_ID_NONE)
		return fail(ret_message, -EBADMSG, "an upload needs a build-ID");
	if (asprintf(&path, "%s/" UPLOAD_PREFIX "XXXXXX", store->folder) < 0)
		return fail_errno(ret_message, -ENOMEM, "cannot begin the upload");
	upload->fd = mkostemp(path, O_CLOEXEC);
	if (upload->fd < 0)
		return fail_errno(ret_message, -errno,
				  "cannot make a temporary file in the data folder");
	upload->path = take_ptr(path);
	*ret_upload = take_ptr(upload);
	return 0;
}

struct debuginfo_upload *debuginfo_upload_free(struct debuginfo_upload *upload)
{
	if (!upload)
		return NULL;
	if (upload->path)
		(void)unlink(upload->path);
	scoped_close(&upload->fd);
	free(upload->path);
	free(upload);
	return NULL;
}

int debuginfo_upload_append(struct debuginfo_upload *upload, struct bytes_view data,
			    char ret_message[DEBUGINFO_MESSAGE_SIZE])
{
	int r;

	if (data.size > DEBUGINFO_MAX_FILE_BYTES - upload->size)
		return fail(ret_message, -EFBIG, "the file has more than %llu GiB",
			    (unsigned long long)(DEBUGINFO_MAX_FILE_BYTES / GIB));
	r = write_all(upload->fd, data.data, data.size);
	if (r < 0)
		return fail_errno(ret_message, r, "cannot keep the upload in the data folder");
	upload->size += data.size;
	return 0;
}

/* 1 better than what is there, 0 not (the message says why). */
static int is_better(struct sqlite_db *db, const struct debuginfo_upload *upload,
		     enum debuginfo_richness richness, char *message)
{
	static const char *const names[] = { "nothing", "symbols", "source lines", "full DWARF" };
	struct debuginfo_entry best;
	int r;

	r = debuginfo_db_best(db, &upload->id, &best, NULL);
	if (r < 0)
		return fail_errno(message, r, "cannot look for what is there");
	if (r == 0 || best.origin < upload->origin ||
	    (best.origin == upload->origin && best.richness < richness))
		return 1;
	return fail(message, 0, "a file with %s from %s is there already", names[best.richness],
		    best.origin == DEBUGINFO_FROM_PIPELINE ? "a build pipeline" : "an agent");
}

static int add_file_row(struct new_file *file)
{
	const struct debuginfo_upload *upload = file->upload;
	struct debuginfo_store *store = upload->store;
	int r;

	file->uploaded_wall_ns = clock_wall_ns(store->clock);
	(void)pthread_mutex_lock(&store->write_lock);
	r = sqlite_run(store->writer, SQL_FILE_ADD, SQL_INT(upload->id.kind),
		       SQL_BLOB(upload->id.bytes, upload->id.size), SQL_INT(upload->origin),
		       SQL_INT(file->richness), SQL_INT(upload->size),
		       SQL_INT(file->uploaded_wall_ns));
	if (r == 0)
		file->id = sqlite_last_id(store->writer);
	(void)pthread_mutex_unlock(&store->write_lock);
	return r;
}

static int read_chunk(const struct debuginfo_upload *upload, uint64_t number, struct bytes *piece,
		      struct chunk *chunk)
{
	uint64_t offset = number * CHUNK_BYTES;
	size_t size = MIN(CHUNK_BYTES, upload->size - offset);
	int r;

	bytes_clear(piece);
	r = bytes_reserve(piece, size);
	if (r == 0)
		r = pread_all(upload->fd, piece->data, size, offset);
	if (r < 0)
		return r;
	piece->size = size;
	chunk->hash = hash128_of(piece->data, piece->size);
	bytes_clear(&chunk->content);
	return zstd_compress(bytes_view_of(piece), CHUNK_ZSTD_LEVEL, &chunk->content);
}

static int store_chunks(struct new_file *file, const struct chunk *chunks, size_t count)
{
	struct debuginfo_store *store = file->upload->store;
	int r;

	(void)pthread_mutex_lock(&store->write_lock);
	r = sqlite_begin(store->writer);
	for (size_t i = 0; i < count && r == 0; i++) {
		r = sqlite_run(store->writer, SQL_CHUNK_ADD,
			       SQL_INT(first_chunk_id(file->id) + (int64_t)(file->n_chunks + i)),
			       SQL_BLOB(chunks[i].hash.bytes, sizeof(chunks[i].hash.bytes)),
			       SQL_BLOB(chunks[i].content.data, chunks[i].content.size));
		file->stored_bytes += chunks[i].content.size;
		(void)bytes_append(&file->hashes, chunks[i].hash.bytes,
				   sizeof(chunks[i].hash.bytes));
	}
	if (r == 0)
		r = sqlite_commit(store->writer);
	if (r < 0)
		sqlite_rollback(store->writer);
	(void)pthread_mutex_unlock(&store->write_lock);
	file->n_chunks += count;
	return r < 0 ? r : bytes_error(&file->hashes);
}

static int store_contents(struct new_file *file)
{
	uint64_t n_chunks = (file->upload->size + CHUNK_BYTES - 1) / CHUNK_BYTES;
	scoped(bytes_release) struct bytes piece = BYTES_INIT(CHUNK_BYTES);
	struct chunk chunks[CHUNKS_PER_TRANSACTION] = {};
	size_t count = 0;
	int r = 0;

	for (size_t i = 0; i < ARRAY_SIZE(chunks); i++)
		chunks[i].content = BYTES_INIT(2 * CHUNK_BYTES);
	for (uint64_t number = 0; number < n_chunks && r == 0; number++) {
		r = read_chunk(file->upload, number, &piece, &chunks[count]);
		if (r < 0)
			break;
		count++;
		if (count == ARRAY_SIZE(chunks) || number + 1 == n_chunks) {
			r = store_chunks(file, chunks, count);
			count = 0;
		}
	}
	for (size_t i = 0; i < ARRAY_SIZE(chunks); i++)
		bytes_release(&chunks[i].content);
	return r;
}

/* 1 found, 0 none. */
static int find_poorer(const struct new_file *file, int64_t *ret_poorer)
{
	const struct debuginfo_upload *upload = file->upload;
	scoped(sqlite_resetp) sqlite3_stmt *row = NULL;
	int r;

	r = sqlite_query(upload->store->writer, SQL_FILE_POORER, &row, SQL_INT(upload->id.kind),
			 SQL_BLOB(upload->id.bytes, upload->id.size), SQL_INT(upload->origin),
			 SQL_INT(file->richness), SQL_INT(file->id));
	if (r > 0)
		*ret_poorer = sqlite3_column_int64(row, 0);
	return r;
}

static int remove_poorer(const struct new_file *file)
{
	int64_t poorer;
	int r;

	while ((r = find_poorer(file, &poorer)) > 0) {
		r = debuginfo_db_remove_file(file->upload->store->writer, poorer);
		if (r < 0)
			break;
	}
	return r;
}

/* In a transaction: another upload of this identity may have been completed meanwhile. 1 stored, 0
 * not better. */
static int complete_file(struct new_file *file, uint64_t *ret_generation, char *message)
{
	struct sqlite_db *db = file->upload->store->writer;
	struct hash128 hash = hash128_of(file->hashes.data, file->hashes.size);
	int r;

	r = is_better(db, file->upload, file->richness, message);
	if (r <= 0)
		return r;
	r = sqlite_run(db, SQL_FILE_COMPLETE, SQL_INT(file->id), SQL_INT(file->stored_bytes),
		       SQL_BLOB(hash.bytes, sizeof(hash.bytes)));
	if (r == 0)
		r = remove_poorer(file);
	if (r == 0)
		r = debuginfo_db_raise_generation(db, ret_generation);
	return r < 0 ? r : 1;
}

/* From what is known, not from the database: once the file is published nothing may fail any more.
 */
static struct debuginfo_entry entry_of_file(const struct new_file *file)
{
	return (struct debuginfo_entry){
		.id = file->upload->id,
		.origin = file->upload->origin,
		.richness = file->richness,
		.size_bytes = file->upload->size,
		.stored_bytes = file->stored_bytes,
		.uploaded_wall_ns = file->uploaded_wall_ns,
		.generation = (uint64_t)file->id,
	};
}

static int publish(struct new_file *file, struct debuginfo_entry *ret_entry, char *message)
{
	struct debuginfo_store *store = file->upload->store;
	uint64_t generation;
	int r;

	(void)pthread_mutex_lock(&store->write_lock);
	r = sqlite_begin(store->writer);
	if (r == 0)
		r = complete_file(file, &generation, message);
	if (r > 0)
		r = sqlite_commit(store->writer) < 0 ? -EIO : 1;
	if (r <= 0)
		sqlite_rollback(store->writer);
	if (r > 0) {
		(void)sqlite_db_run(store->writer, "PRAGMA incremental_vacuum");
		atomic_store(&store->generation, generation);
		*ret_entry = entry_of_file(file);
		file->id = 0;
	}
	(void)pthread_mutex_unlock(&store->write_lock);
	return r;
}

/* What a failed upload has stored so far. What cannot be removed now is, when the store is opened
 * again. */
static void forget_file(const struct new_file *file)
{
	struct debuginfo_store *store = file->upload->store;
	int r;

	if (file->id == 0)
		return;
	(void)pthread_mutex_lock(&store->write_lock);
	r = sqlite_begin(store->writer);
	if (r == 0)
		r = debuginfo_db_remove_file(store->writer, file->id);
	if (r == 0)
		r = sqlite_commit(store->writer);
	if (r < 0)
		sqlite_rollback(store->writer);
	else
		(void)sqlite_db_run(store->writer, "PRAGMA incremental_vacuum");
	(void)pthread_mutex_unlock(&store->write_lock);
}

static int store_file(struct debuginfo_upload *upload, enum debuginfo_richness richness,
		      struct debuginfo_entry *ret_entry, char *message)
{
	struct new_file file = {
		.upload = upload,
		.richness = richness,
		.hashes =
			BYTES_INIT(DEBUGINFO_MAX_FILE_BYTES / CHUNK_BYTES * sizeof(struct hash128)),
	};
	int r;

	r = add_file_row(&file);
	if (r == 0)
		r = store_contents(&file);
	if (r == 0)
		r = publish(&file, ret_entry, message);
	if (r <= 0)
		forget_file(&file);
	bytes_release(&file.hashes);
	if (r < 0 && message[0] == '\0')
		return fail_errno(message, r, "cannot store the file");
	return r;
}

static int check_and_store(struct debuginfo_upload *upload, struct debuginfo_entry *ret_entry,
			   char *message)
{
	struct debuginfo_store *store = upload->store;
	enum debuginfo_richness richness;
	int r;

	r = debuginfo_inspect(upload->fd, &upload->id, &richness, message);
	if (r < 0)
		return message[0] ? r : fail_errno(message, r, "cannot read the upload back");

	(void)pthread_mutex_lock(&store->read_lock);
	r = is_better(store->reader, upload, richness, message);
	if (r == 0)
		r = debuginfo_db_best(store->reader, &upload->id, ret_entry, NULL) < 0 ? -EIO : 0;
	(void)pthread_mutex_unlock(&store->read_lock);
	return r <= 0 ? r : store_file(upload, richness, ret_entry, message);
}

int debuginfo_upload_commit(struct debuginfo_upload *upload, struct debuginfo_entry *ret_entry,
			    char ret_message[DEBUGINFO_MESSAGE_SIZE])
{
	int r;

	ret_message[0] = '\0';
	r = check_and_store(upload, ret_entry, ret_message);
	if (r == -EBADMSG)
		debuginfo_refused(upload->store, &upload->id);
	return r;
}
