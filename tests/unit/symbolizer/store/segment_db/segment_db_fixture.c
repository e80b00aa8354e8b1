/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/symbolizer/store/segment_db/segment_db_fixture.h"

#include <sqlite3.h>

#include "common/file.h"
#include "symbolizer/ingest/batch_decoder.h"
#include "symbolizer/store/segment_db/day_file.h"

struct segment_db_options test_options(const char *folder)
{
	return (struct segment_db_options){
		.folder = folder,
		.decoder = { .decode = batch_payload_decode,
			     .extract_definitions = batch_payload_definitions,
			     .decode_definitions = batch_payload_decode_definitions },
		.max_head_bytes = 64 * MIB,
		.max_numbers_bytes = 16 * MIB,
		.max_agents = 100,
	};
}

struct segment_db *open_db(const char *folder)
{
	const struct segment_db_options options = test_options(folder);
	struct segment_db *db = NULL;

	assert_ok(segment_db_open(&options, &db));
	return db;
}

struct segment_db *step(struct segment_db *db, const char *folder, int number)
{
	const struct segment_db_compaction compaction = { .closed_slot = UINT64_MAX,
							  .max_merge_bytes = 8 * MIB };
	size_t n_changed;

	if (number == 1)
		assert_ok(segment_db_flush(db, NOON));
	if (number == 2)
		assert_ok(segment_db_compact(db, &compaction, &n_changed));
	if (number != 3)
		return db;
	(void)segment_db_free(db);
	return open_db(folder);
}

void define_all(struct batch_builder *builder)
{
	static const struct batch_frame frames[] = {
		{ FRAME_NATIVE, 1, 0x3000 },
		{ FRAME_NATIVE, 1, 0x2000 },
		{ FRAME_NATIVE, 1, 0x1000 },
	};
	struct executable_id id = test_build_id(1);

	batch_builder_executable(builder, 1, &id, "server", ROLE_USER);
	batch_builder_process(builder, 1, 4711, 99, "web", 1);
	batch_builder_path(builder, 1, "/usr/bin/server");
	batch_builder_process(builder, 2, 4712, 99, "db", 1);
	batch_builder_series(builder, 1, 1, 4711, "main", EVENT_ON_CPU, PERIOD_NS);
	batch_builder_series(builder, 2, 2, 4712, "main", EVENT_OFF_CPU, 0);
	batch_builder_stack(builder, 1, STACK_CUT_NONE, frames, 3);
	batch_builder_stack(builder, 2, STACK_CUT_DEPTH, frames + 1, 2);
}

struct batch_builder *batch_of(uint8_t agent, uint64_t sequence, uint64_t closed_wall_ns,
			       bool defines)
{
	struct batch_builder *builder = batch_builder_new(
		agent, EPOCH, sequence, closed_wall_ns - 5 * SECOND, closed_wall_ns);

	if (defines)
		define_all(builder);
	batch_builder_row(builder, 1, 1, closed_wall_ns - 4 * SECOND, 1);
	batch_builder_row(builder, 1, 2, closed_wall_ns - 3 * SECOND, 2);
	batch_builder_row(builder, 1, 0, closed_wall_ns - SECOND, 4);
	batch_builder_row(builder, 2, 1, closed_wall_ns - SECOND, DB_OF_BATCH);
	return builder;
}

void test_batch_init(struct test_batch *test, struct batch_builder *builder)
{
	char reason[DECODE_MESSAGE_SIZE];

	*test = (struct test_batch){ .body = BYTES_INIT(64 * MIB) };
	assert_ok(arena_new(BATCH_MAX_DECODED_BYTES, &test->arena));
	batch_builder_finish(builder, &test->body);
	if (batch_decode(bytes_view_of(&test->body), test->arena, &test->batch, reason) < 0)
		fail_msg("%s", reason);
}

void test_batch_release(struct test_batch *test)
{
	bytes_release(&test->body);
	(void)arena_free(test->arena);
}

struct segment_db_write test_batch_write(struct test_batch *test, const char *tenant)
{
	return (struct segment_db_write){
		.tenant = tenant,
		.batch = &test->batch,
		.payload = bytes_view_of(&test->body),
		.arena = test->arena,
		.ret_missing = &test->missing,
	};
}

int write_batch_in(struct segment_db *db, const char *tenant, struct batch_builder *builder)
{
	struct segment_db_write write;
	struct test_batch test;

	test_batch_init(&test, builder);
	write = test_batch_write(&test, tenant);
	assert_int_equal(segment_db_write(db, &write, 1, NOON), 1);
	test_batch_release(&test);
	return write.result;
}

int write_batch(struct segment_db *db, struct batch_builder *builder)
{
	return write_batch_in(db, "default", builder);
}

struct visit {
	struct segment_codec codec;
	struct totals totals;
};

static uint64_t sum_of(const struct segment *segment)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < segment->count[SEGMENT_ROW]; i++) {
		uint64_t series = segment->column[ROW_SERIES][i];
		uint64_t period = series ? segment->column[SERIES_PERIOD_NS][series - 1] : 0;

		sum += segment->column[ROW_VALUE][i] * (period ? period : 1);
	}
	return sum;
}

static int visit_segment(void *arg, const struct segment_info *info, struct bytes_view content)
{
	scoped(arena_freep) struct arena *arena = NULL;
	struct visit *visit = arg;
	struct segment_info found;
	struct segment segment;

	assert_ok(arena_new(256 * MIB, &arena));
	assert_ok(segment_decode(content, SEGMENT_ALL, &visit->codec, arena, &segment));
	assert_ok(segment_info_of(&segment, arena, &found));
	found.n_bytes = content.size;
	assert_true(segment_info_equal(info, &found));
	visit->totals.n_segments += info->kind == SEGMENT_SAMPLES;
	visit->totals.n_rollups += info->kind == SEGMENT_ROLLUP;
	visit->totals.n_rows += info->n_rows;
	visit->totals.sum += sum_of(&segment);
	return 0;
}

struct totals totals_of(struct segment_db *db, const struct segment_db_query *query)
{
	struct visit visit = {};

	assert_ok(segment_db_scan(db, query, visit_segment, &visit, &visit.totals.n_damaged));
	segment_codec_release(&visit.codec);
	return visit.totals;
}

struct totals total(struct segment_db *db)
{
	return totals_of(db, &(struct segment_db_query){ .to_slot = UINT64_MAX });
}

void assert_batches(struct segment_db *db, uint64_t n)
{
	struct totals totals;

	assert_ok(segment_db_flush(db, NOON));
	totals = total(db);
	assert_int_equal(totals.n_rows, n * ROWS_OF_BATCH);
	assert_int_equal(totals.sum, n * SUM_OF_BATCH);
	assert_int_equal(totals.n_damaged, 0);
}

static sqlite3 *open_file(const char *folder, const char *file)
{
	scoped_free char *path = path_in(folder, file);
	sqlite3 *handle = NULL;

	assert_int_equal(sqlite3_open_v2(path, &handle, SQLITE_OPEN_READWRITE, NULL), SQLITE_OK);
	return handle;
}

void run_sql(const char *folder, const char *file, const char *sql)
{
	sqlite3 *handle = open_file(folder, file);

	if (sqlite3_exec(handle, sql, NULL, NULL, NULL) != SQLITE_OK)
		fail_msg("%s: %s", sql, sqlite3_errmsg(handle));
	(void)sqlite3_close(handle);
}

int64_t query_number(const char *folder, const char *file, const char *sql)
{
	sqlite3 *handle = open_file(folder, file);
	sqlite3_stmt *row = NULL;
	int64_t number;

	if (sqlite3_prepare_v2(handle, sql, -1, &row, NULL) != SQLITE_OK)
		fail_msg("%s: %s", sql, sqlite3_errmsg(handle));
	assert_int_equal(sqlite3_step(row), SQLITE_ROW);
	number = sqlite3_column_int64(row, 0);
	(void)sqlite3_finalize(row);
	(void)sqlite3_close(handle);
	return number;
}

void copy_file(const char *folder, const char *from, const char *to)
{
	static const char *const suffixes[] = { "", "-wal" };

	for (size_t i = 0; i < ARRAY_SIZE(suffixes); i++) {
		scoped(bytes_release) struct bytes content = BYTES_INIT(64 * MIB);
		scoped_free char *source = NULL, *target = NULL;

		assert_true(asprintf(&source, "%s/%s%s", folder, from, suffixes[i]) > 0);
		assert_true(asprintf(&target, "%s/%s%s", folder, to, suffixes[i]) > 0);
		(void)unlink(target);
		if (file_read(source, &content) == 0)
			assert_ok(file_replace(target, content.data, content.size, 0640));
	}
}
