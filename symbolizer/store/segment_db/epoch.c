/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/store/segment_db/epoch.h"

#include "common/arena.h"
#include "common/limits.h"
#include "common/log.h"
#include "common/zstd_frame.h"

/* An epoch with more chunks gets one at the next flush, which rewrites all its definitions. */
#define MAX_CHUNKS 32

/*
 * Most bytes of all definitions of an epoch, not compressed. In practice max_numbers_bytes limits
 * them.
 */
#define MAX_DEFINITION_BYTES (4 * GIB)

/* Chunks are read again after a restart only. */
#define CHUNK_LEVEL 6

/* Definitions that are loaded into a growing limit of memory. */
struct load {
	const struct segment_db *db;
	struct sqlite_db *inbox;
	int64_t epoch;
	uint64_t upto_id;
	size_t max_bytes;
	struct arena *arena; /* of one batch */
	struct numbers *numbers;
};

static void load_release(struct load *load)
{
	(void)numbers_free(load->numbers);
	(void)arena_free(load->arena);
}

static int learn(struct load *load, const struct batch *batch)
{
	scoped(numbers_missing_release) struct numbers_missing missing = {};

	return numbers_learn(load->numbers, batch, &missing);
}

/* If the disk has damaged definitions, the agent is asked for them. */
static int skip_damaged(const struct segment_db *db, int r)
{
	if (r != -EBADMSG)
		return r;
	log_error("definitions in '%s/inbox.db' are damaged, ignoring", db->folder);
	return 0;
}

static int learn_definitions(struct load *load, struct bytes_view definitions)
{
	const struct segment_db_decoder *decoder = &load->db->options.decoder;
	struct batch batch;
	int r;

	arena_clear(load->arena);
	r = decoder->decode_definitions(decoder->arg, definitions, load->arena, &batch);
	return r < 0 ? skip_damaged(load->db, r) : learn(load, &batch);
}

/* Takes the next message of a chunk. 1, 0: the end. */
static int next_message(struct bytes_reader *reader, struct bytes_view *ret_message)
{
	uint64_t size;

	if (reader->next == reader->end)
		return 0;
	size = bytes_read_varint(reader);
	if (reader->error || size > (size_t)(reader->end - reader->next))
		return -EBADMSG;
	*ret_message = (struct bytes_view){ .data = reader->next, .size = (size_t)size };
	reader->next += size;
	return 1;
}

static int learn_chunk(struct load *load, struct bytes_view content)
{
	scoped(bytes_release) struct bytes plain = BYTES_INIT(MAX_DEFINITION_BYTES);
	struct bytes_view message;
	struct bytes_reader reader;
	int r = zstd_decompress(content, &plain);

	if (r < 0)
		return r;
	reader = bytes_reader_of(bytes_view_of(&plain));
	r = next_message(&reader, &message);
	while (r > 0) {
		r = learn_definitions(load, message);
		if (r == 0)
			r = next_message(&reader, &message);
	}
	return r;
}

static int learn_chunks(struct load *load)
{
	scoped(sqlite_resetp) sqlite3_stmt *row = NULL;
	int r = sqlite_query(load->inbox, INBOX_SQL_CHUNKS, &row, SQL_INT(load->epoch));

	while (r > 0) {
		r = skip_damaged(load->db, learn_chunk(load, sqlite_blob(row, 0)));
		if (r == 0)
			r = sqlite_step(load->inbox, row);
	}
	return r;
}

static int start_numbers(struct load *load)
{
	(void)numbers_free(take_ptr(load->numbers));
	return numbers_new(load->max_bytes, &load->numbers);
}

static int learn_row(struct load *load, sqlite3_stmt *row)
{
	const struct segment_db_decoder *decoder = &load->db->options.decoder;
	struct batch batch;
	int r = 0;

	if (sqlite3_column_int64(row, 1) & INBOX_RESETS)
		r = start_numbers(load);
	arena_clear(load->arena);
	if (r == 0)
		r = decoder->decode(decoder->arg, sqlite_blob(row, 2), 0, load->arena, &batch);
	return r < 0 ? skip_damaged(load->db, r) : learn(load, &batch);
}

static int learn_inbox(struct load *load)
{
	scoped(sqlite_resetp) sqlite3_stmt *row = NULL;
	int r = sqlite_query(load->inbox, INBOX_SQL_INBOX_DEFINING, &row, SQL_INT(load->epoch),
			     SQL_INT(load->db->state.flushed_id), SQL_INT(load->upto_id));

	while (r > 0) {
		r = learn_row(load, row);
		if (r == 0)
			r = sqlite_step(load->inbox, row);
	}
	return r;
}

static int load_all(struct load *load)
{
	int r = start_numbers(load);

	if (r == 0)
		r = learn_chunks(load);
	return r < 0 ? r : learn_inbox(load);
}

int epoch_load_numbers(const struct segment_db *db, struct sqlite_db *inbox, int64_t epoch,
		       uint64_t upto_id, struct numbers **ret_numbers)
{
	scoped(load_release) struct load load = { .db = db,
						  .inbox = inbox,
						  .epoch = epoch,
						  .upto_id = upto_id,
						  .max_bytes = db->options.max_numbers_bytes };
	int r = arena_new(BATCH_MAX_DECODED_BYTES, &load.arena);

	if (r < 0)
		return r;
	/* The configured limit may be smaller than it was when the batches were accepted. */
	while ((r = load_all(&load)) == -ENOSPC && load.max_bytes < MAX_DEFINITION_BYTES)
		load.max_bytes *= 2;
	if (r < 0)
		return r;
	*ret_numbers = take_ptr(load.numbers);
	return 0;
}

static int append_message(const struct segment_db *db, struct bytes_view payload,
			  struct bytes *scratch, struct bytes *plain)
{
	const struct segment_db_decoder *decoder = &db->options.decoder;
	int r;

	bytes_clear(scratch);
	r = decoder->extract_definitions(decoder->arg, payload, scratch);
	if (r < 0)
		return skip_damaged(db, r);
	(void)bytes_append_varint(plain, scratch->size);
	return bytes_append(plain, scratch->data, scratch->size);
}

static int append_inbox(const struct segment_db *db, struct sqlite_db *inbox, uint64_t upto_id,
			struct epoch_change *change, struct bytes *plain)
{
	scoped(bytes_release) struct bytes scratch = BYTES_INIT(BATCH_MAX_BYTES);
	scoped(sqlite_resetp) sqlite3_stmt *row = NULL;
	int r = sqlite_query(inbox, INBOX_SQL_INBOX_DEFINING, &row, SQL_INT(change->epoch),
			     SQL_INT(db->state.flushed_id), SQL_INT(upto_id));

	while (r > 0) {
		if (sqlite3_column_int64(row, 1) & INBOX_RESETS) {
			change->replaces_chunks = true;
			bytes_clear(plain);
		}
		r = append_message(db, sqlite_blob(row, 2), &scratch, plain);
		if (r == 0)
			r = sqlite_step(inbox, row);
	}
	return r;
}

static int append_chunks(const struct segment_db *db, struct sqlite_db *inbox, int64_t epoch,
			 struct bytes *plain)
{
	scoped(sqlite_resetp) sqlite3_stmt *row = NULL;
	int r = sqlite_query(inbox, INBOX_SQL_CHUNKS, &row, SQL_INT(epoch));

	while (r > 0) {
		size_t size = plain->size;

		r = zstd_decompress(sqlite_blob(row, 0), plain);
		/* A damaged frame may have given a part of its content. */
		if (r == -EBADMSG)
			plain->size = size;
		r = skip_damaged(db, r);
		if (r == 0)
			r = sqlite_step(inbox, row);
	}
	return r;
}

static int has_many_chunks(struct sqlite_db *inbox, int64_t epoch)
{
	scoped(sqlite_resetp) sqlite3_stmt *row = NULL;
	int r = sqlite_query(inbox, INBOX_SQL_CHUNK_COUNT, &row, SQL_INT(epoch));

	return r <= 0 ? r : sqlite3_column_int64(row, 0) >= MAX_CHUNKS;
}

int epoch_make_chunk(const struct segment_db *db, struct sqlite_db *inbox, int64_t epoch,
		     uint64_t upto_id, struct epoch_change *ret_change)
{
	scoped(bytes_release) struct bytes plain = BYTES_INIT(MAX_DEFINITION_BYTES);
	int merges;
	int r;

	*ret_change = (struct epoch_change){ .epoch = epoch,
					     .chunk = BYTES_INIT(SEGMENT_DB_MAX_SEGMENT_BYTES) };
	merges = has_many_chunks(inbox, epoch);
	if (merges < 0)
		return merges;
	if (merges > 0) {
		r = append_chunks(db, inbox, epoch, &plain);
		if (r < 0)
			return r;
		ret_change->replaces_chunks = true;
	}
	r = append_inbox(db, inbox, upto_id, ret_change, &plain);
	if (r < 0 || plain.size == 0)
		return r;
	return zstd_compress(bytes_view_of(&plain), CHUNK_LEVEL, &ret_change->chunk);
}
