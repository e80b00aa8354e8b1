/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Splits bytes into chunks and stores them, a few per transaction, so that other writers need not
 * wait long. The content row has no effect until a file row names it. Content that the database has
 * already is not stored again. SHA-256 decides that contents are equal: with a weaker hash, a
 * client could forge a collision and have its bytes served in the name of another.
 */

#include <gnutls/crypto.h>
#include <unistd.h>

#include "common/file.h"
#include "common/zstd_frame.h"
#include "symbolizer/debuginfo/debuginfo_private.h"

#define CHUNKS_PER_TRANSACTION 16

#define CHUNK_ZSTD_LEVEL 3

#define HASH_PIECE_BYTES ((size_t)(256 * KIB))

struct chunk {
	struct hash128 hash;
	struct bytes content;
};

/* Content while its chunks are stored. */
struct filling {
	struct debuginfo_store *store;
	struct new_content *content;
	int fd;
	uint64_t n_chunks;
	struct bytes hashes; /* of all chunks, one after another */
};

static int hash_pieces(gnutls_hash_hd_t state, int fd, uint64_t size)
{
	scoped_free uint8_t *piece = malloc(HASH_PIECE_BYTES);
	uint64_t done = 0;

	if (!piece)
		return -ENOMEM;
	while (done < size) {
		size_t length = MIN(HASH_PIECE_BYTES, size - done);
		int r = pread_all(fd, piece, length, done);

		if (r < 0)
			return r;
		if (gnutls_hash(state, piece, length) < 0)
			return -EIO;
		done += length;
	}
	return 0;
}

int debuginfo_sha256_of_fd(int fd, uint64_t size, uint8_t ret_sha256[DEBUGINFO_SHA256_BYTES])
{
	uint8_t digest[DEBUGINFO_SHA256_BYTES];
	gnutls_hash_hd_t state;
	int r;

	if (gnutls_hash_init(&state, GNUTLS_DIG_SHA256) < 0)
		return -ENOMEM;
	r = hash_pieces(state, fd, size);
	gnutls_hash_deinit(state, digest);
	if (r == 0)
		memcpy(ret_sha256, digest, sizeof(digest));
	return r;
}

/* Returns 1 if found, 0 if there is none. */
static int find_equal(struct sqlite_db *db, struct new_content *content)
{
	scoped(sqlite_resetp) sqlite3_stmt *row = NULL;
	struct bytes_view hash;
	int r;

	r = sqlite_query(db, SQL_CONTENT_BY_SHA256, &row,
			 SQL_BLOB(content->sha256, sizeof(content->sha256)),
			 SQL_INT(content->shared ? 0 : content->id));
	if (r <= 0)
		return r;
	hash = sqlite_blob(row, 2);
	if (hash.size != sizeof(content->hash.bytes))
		return 0;
	content->shared = true;
	content->id = sqlite3_column_int64(row, 0);
	content->stored_bytes = (uint64_t)sqlite3_column_int64(row, 1);
	memcpy(content->hash.bytes, hash.data, hash.size);
	return 1;
}

static int add_row(struct filling *filling)
{
	struct debuginfo_store *store = filling->store;
	struct new_content *content = filling->content;
	int r;

	debuginfo_write_begin(store);
	r = sqlite_run(store->writer, SQL_CONTENT_ADD, SQL_INT(content->size),
		       SQL_BLOB(content->sha256, sizeof(content->sha256)));
	if (r == 0)
		content->id = sqlite_last_id(store->writer);
	debuginfo_write_end(store);
	return r;
}

static int read_chunk(const struct filling *filling, uint64_t number, struct bytes *piece,
		      struct chunk *chunk)
{
	uint64_t offset = number * CHUNK_BYTES;
	size_t size = MIN(CHUNK_BYTES, filling->content->size - offset);
	int r;

	bytes_clear(piece);
	r = bytes_reserve(piece, size);
	if (r == 0)
		r = pread_all(filling->fd, piece->data, size, offset);
	if (r < 0)
		return r;
	piece->size = size;
	chunk->hash = hash128_of(piece->data, piece->size);
	bytes_clear(&chunk->content);
	return zstd_compress(bytes_view_of(piece), CHUNK_ZSTD_LEVEL, &chunk->content);
}

static int store_chunks(struct filling *filling, const struct chunk *chunks, size_t count)
{
	struct debuginfo_store *store = filling->store;
	int64_t first = first_chunk_id(filling->content->id) + (int64_t)filling->n_chunks;
	char message[DEBUGINFO_MESSAGE_SIZE];
	uint64_t bytes = 0;
	int r;

	for (size_t i = 0; i < count; i++)
		bytes += chunks[i].content.size;
	r = debuginfo_check_room(store, bytes, message);
	if (r < 0)
		return r;

	debuginfo_write_begin(store);
	r = sqlite_begin(store->writer);
	for (size_t i = 0; i < count && r == 0; i++) {
		r = sqlite_run(store->writer, SQL_CHUNK_ADD, SQL_INT(first + (int64_t)i),
			       SQL_BLOB(chunks[i].hash.bytes, sizeof(chunks[i].hash.bytes)),
			       SQL_BLOB(chunks[i].content.data, chunks[i].content.size));
		filling->content->stored_bytes += chunks[i].content.size;
		(void)bytes_append(&filling->hashes, chunks[i].hash.bytes,
				   sizeof(chunks[i].hash.bytes));
	}
	if (r == 0)
		r = sqlite_commit(store->writer);
	if (r < 0)
		sqlite_rollback(store->writer);
	debuginfo_write_end(store);
	filling->n_chunks += count;
	return r < 0 ? r : bytes_error(&filling->hashes);
}

static int fill(struct filling *filling)
{
	uint64_t n_chunks = (filling->content->size + CHUNK_BYTES - 1) / CHUNK_BYTES;
	scoped(bytes_release) struct bytes piece = BYTES_INIT(CHUNK_BYTES);
	struct chunk chunks[CHUNKS_PER_TRANSACTION] = {};
	size_t count = 0;
	int r = 0;

	for (size_t i = 0; i < ARRAY_SIZE(chunks); i++)
		chunks[i].content = BYTES_INIT(2 * CHUNK_BYTES);
	for (uint64_t number = 0; number < n_chunks && r == 0; number++) {
		r = read_chunk(filling, number, &piece, &chunks[count]);
		if (r < 0)
			break;
		count++;
		if (count == ARRAY_SIZE(chunks) || number + 1 == n_chunks) {
			r = store_chunks(filling, chunks, count);
			count = 0;
		}
	}
	for (size_t i = 0; i < ARRAY_SIZE(chunks); i++)
		bytes_release(&chunks[i].content);
	return r;
}

int debuginfo_content_store(struct debuginfo_store *store, int fd, uint64_t size,
			    struct new_content *ret_content)
{
	struct filling filling = {
		.store = store,
		.content = ret_content,
		.fd = fd,
		.hashes =
			BYTES_INIT(DEBUGINFO_MAX_FILE_BYTES / CHUNK_BYTES * sizeof(struct hash128)),
	};
	int r;

	*ret_content = (struct new_content){ .size = size };
	r = debuginfo_sha256_of_fd(fd, size, ret_content->sha256);
	if (r < 0)
		return r;
	(void)pthread_mutex_lock(&store->read_lock);
	r = find_equal(store->reader, ret_content);
	(void)pthread_mutex_unlock(&store->read_lock);
	if (r != 0)
		return MIN(r, 0);
	r = add_row(&filling);
	if (r == 0)
		r = fill(&filling);
	if (r == 0)
		ret_content->hash = hash128_of(filling.hashes.data, filling.hashes.size);
	bytes_release(&filling.hashes);
	return r;
}

/* Looks again: equal content may have been stored or removed since. */
int debuginfo_content_publish(struct debuginfo_store *store, struct new_content *content)
{
	struct sqlite_db *db = store->writer;
	int64_t own = content->shared ? 0 : content->id;
	int r;

	r = find_equal(db, content);
	if (r < 0)
		return r;
	if (r > 0)
		return own ? debuginfo_db_remove_content(db, own) : 0;
	if (!own)
		return -EAGAIN;
	r = sqlite_run(db, SQL_CONTENT_COMPLETE, SQL_INT(own), SQL_INT(content->stored_bytes),
		       SQL_BLOB(content->hash.bytes, sizeof(content->hash.bytes)));
	return r < 0 ? r : sqlite_run(db, SQL_TOTAL_ADD, SQL_INT(content->stored_bytes));
}

void debuginfo_content_forget(struct debuginfo_store *store, struct new_content *content)
{
	int r;

	if (content->id == 0 || content->shared)
		return;
	debuginfo_write_begin(store);
	r = sqlite_begin(store->writer);
	if (r == 0)
		r = debuginfo_db_remove_content(store->writer, content->id);
	if (r == 0)
		r = sqlite_commit(store->writer);
	if (r < 0)
		sqlite_rollback(store->writer);
	debuginfo_write_end(store);
	debuginfo_return_space(store);
	content->id = 0;
}
