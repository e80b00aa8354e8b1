/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/symbolizer/store/segment_db/segment_db_fixture.h"

static void rows_of_accepted_batches_are_in_segments_after_a_flush(void **state)
{
	scoped(segment_db_freep) struct segment_db *db = open_db(*state);

	assert_int_equal(write_batch(db, batch_of(1, 1, NOON, true)), STORE_STORED);
	assert_int_equal(write_batch(db, batch_of(1, 2, NOON + 5 * SECOND, false)), STORE_STORED);
	assert_true(segment_db_head_bytes(db) > 0);
	assert_int_equal(total(db).n_rows, 0);
	assert_batches(db, 2);
	assert_int_equal(total(db).n_segments, 4); /* of two services and two hours */
	assert_int_equal(query_number(*state, "inbox.db", "SELECT count(*) FROM inbox"), 0);
}

static void a_batch_is_stored_once(void **state)
{
	struct segment_db *db = open_db(*state);

	assert_int_equal(write_batch(db, batch_of(1, 1, MIDNIGHT + SECOND, true)), STORE_STORED);
	assert_int_equal(write_batch(db, batch_of(1, 1, MIDNIGHT + SECOND, true)), STORE_DUPLICATE);
	db = segment_db_free(db);
	db = open_db(*state);
	assert_int_equal(write_batch(db, batch_of(1, 1, MIDNIGHT + SECOND, true)), STORE_DUPLICATE);
	assert_batches(db, 1);
	assert_int_equal(write_batch(db, batch_of(1, 1, MIDNIGHT + SECOND, true)), STORE_DUPLICATE);
	db = segment_db_free(db);
	db = open_db(*state);
	assert_int_equal(write_batch(db, batch_of(1, 1, MIDNIGHT + SECOND, true)), STORE_DUPLICATE);
	assert_batches(db, 1);
	(void)segment_db_free(db);
}

static void rows_of_a_batch_over_midnight_are_in_two_files(void **state)
{
	scoped(segment_db_freep) struct segment_db *db = open_db(*state);

	assert_int_equal(write_batch(db, batch_of(1, 1, MIDNIGHT + 2 * SECOND, true)),
			 STORE_STORED);
	assert_batches(db, 1);
	assert_int_equal(
		query_number(*state, "segments-2026-01-01.db", "SELECT sum(n_rows) FROM segment"),
		2);
	assert_int_equal(
		query_number(*state, "segments-2026-01-02.db", "SELECT sum(n_rows) FROM segment"),
		2);
}

static void batches_in_the_inbox_survive_a_restart(void **state)
{
	struct segment_db *db = open_db(*state);

	assert_int_equal(write_batch(db, batch_of(1, 1, NOON, true)), STORE_STORED);
	assert_int_equal(write_batch(db, batch_of(2, 1, NOON, true)), STORE_STORED);
	assert_int_equal(write_batch(db, batch_of(1, 2, NOON + 5 * SECOND, false)), STORE_STORED);
	(void)segment_db_free(db);
	db = open_db(*state);
	assert_int_equal(write_batch(db, batch_of(1, 3, NOON + 10 * SECOND, false)), STORE_STORED);
	assert_batches(db, 4);
	(void)segment_db_free(db);
}

static void a_moved_batch_is_moved_again_after_a_restart(void **state)
{
	const int64_t step_ns = -(int64_t)(2 * HOUR);
	struct segment_db *db = open_db(*state);
	struct segment_db_write write;
	struct test_batch test;

	test_batch_init(&test, batch_of(1, 1, NOON - SECOND, true));
	for (uint32_t i = 0; i < test.batch.n_rows; i++)
		test.batch.rows[i].slot -= 2 * HOUR / SLOT_NS;
	write = test_batch_write(&test, "default");
	write.step_ns = step_ns;
	assert_int_equal(segment_db_write(db, &write, 1, NOON), 1);
	assert_int_equal(write.result, STORE_STORED);
	test_batch_release(&test);
	(void)segment_db_free(db);
	db = open_db(*state);
	assert_batches(db, 1);
	assert_int_equal(
		totals_of(db, &(struct segment_db_query){ .to_slot = (NOON - HOUR) / SLOT_NS })
			.n_rows,
		ROWS_OF_BATCH);
	(void)segment_db_free(db);
}

static void a_group_ends_before_the_second_batch_of_an_epoch(void **state)
{
	scoped(segment_db_freep) struct segment_db *db = open_db(*state);
	struct segment_db_write writes[4];
	struct test_batch tests[4];

	test_batch_init(&tests[0], batch_of(1, 1, NOON, true));
	test_batch_init(&tests[1], batch_of(2, 1, NOON, false)); /* unknown numbers */
	test_batch_init(&tests[2], batch_of(3, 1, NOON, true));
	test_batch_init(&tests[3], batch_of(1, 2, NOON, false));
	for (size_t i = 0; i < ARRAY_SIZE(tests); i++)
		writes[i] = test_batch_write(&tests[i], "default");
	assert_int_equal(segment_db_write(db, writes, 4, NOON), 3);
	assert_int_equal(writes[0].result, STORE_STORED);
	assert_int_equal(writes[1].result, STORE_NEEDS_NUMBERS);
	assert_int_equal(tests[1].missing.n_stacks, 2);
	assert_int_equal(tests[1].missing.n_series, 2);
	assert_int_equal(writes[2].result, STORE_STORED);
	assert_int_equal(segment_db_write(db, writes + 3, 1, NOON), 1);
	assert_int_equal(writes[3].result, STORE_STORED);
	for (size_t i = 0; i < ARRAY_SIZE(tests); i++)
		test_batch_release(&tests[i]);
	assert_batches(db, 3);
}

static void a_full_head_is_flushed_by_the_next_write(void **state)
{
	struct segment_db_options options = test_options(*state);
	scoped(segment_db_freep) struct segment_db *db = NULL;

	options.max_head_bytes = 1;
	assert_ok(segment_db_open(&options, &db));
	for (uint64_t i = 1; i <= 3; i++)
		assert_int_equal(write_batch(db, batch_of(1, i, NOON, true)), STORE_STORED);
	assert_int_equal(total(db).n_rows, 2 * ROWS_OF_BATCH);
	assert_batches(db, 3);
}

static void a_restart_flushes_batches_that_do_not_fit_into_the_head(void **state)
{
	struct segment_db_options options = test_options(*state);
	struct segment_db *db = open_db(*state);

	for (uint64_t i = 1; i <= 5; i++)
		assert_int_equal(write_batch(db, batch_of(1, i, NOON, i == 1)), STORE_STORED);
	(void)segment_db_free(db);
	options.max_head_bytes = 1;
	assert_ok(segment_db_open(&options, &db));
	assert_int_equal(total(db).n_rows, 4 * ROWS_OF_BATCH);
	assert_batches(db, 5);
	(void)segment_db_free(db);
}

static void tenants_do_not_share_batches_or_definitions(void **state)
{
	scoped(segment_db_freep) struct segment_db *db = open_db(*state);

	assert_int_equal(write_batch_in(db, "one", batch_of(1, 1, NOON, true)), STORE_STORED);
	assert_int_equal(write_batch_in(db, "two", batch_of(1, 1, NOON, false)),
			 STORE_NEEDS_NUMBERS);
	assert_int_equal(write_batch_in(db, "two", batch_of(1, 1, NOON, true)), STORE_STORED);
	assert_batches(db, 2);
	assert_int_equal(
		totals_of(db, &(struct segment_db_query){ .tenant = "two", .to_slot = UINT64_MAX })
			.n_rows,
		ROWS_OF_BATCH);
}

static void a_scan_selects_tenant_service_event_and_time(void **state)
{
	scoped(segment_db_freep) struct segment_db *db = open_db(*state);
	const uint64_t noon = NOON / SLOT_NS;
	const struct {
		struct segment_db_query query;
		uint64_t sum;
	} cases[] = {
		{ { .to_slot = UINT64_MAX }, 3 * SUM_OF_BATCH },
		{ { .tenant = "other", .to_slot = UINT64_MAX }, 0 },
		{ { .tenant = "default", .to_slot = UINT64_MAX }, 3 * SUM_OF_BATCH },
		{ { .tenant = "default", .service = "db", .to_slot = UINT64_MAX },
		  3 * DB_OF_BATCH },
		{ { .tenant = "default", .service = "no", .to_slot = UINT64_MAX }, 0 },
		{ { .event = "on-cpu", .to_slot = UINT64_MAX }, 3 * WEB_OF_BATCH },
		{ { .to_slot = noon }, SUM_OF_BATCH },
		{ { .from_slot = noon, .to_slot = noon + 3600 * 100 }, SUM_OF_BATCH },
		{ { .from_slot = noon + 13 * 3600 * 100, .to_slot = UINT64_MAX }, SUM_OF_BATCH },
	};

	assert_int_equal(write_batch(db, batch_of(1, 1, NOON - SECOND, true)), STORE_STORED);
	assert_int_equal(write_batch(db, batch_of(1, 2, NOON + 30 * SECOND, true)), STORE_STORED);
	assert_int_equal(write_batch(db, batch_of(1, 3, MIDNIGHT + 2 * HOUR, true)), STORE_STORED);
	assert_ok(segment_db_flush(db, NOON));
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_int_equal(totals_of(db, &cases[i].query).sum, cases[i].sum);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		in_folder(rows_of_accepted_batches_are_in_segments_after_a_flush),
		in_folder(a_batch_is_stored_once),
		in_folder(rows_of_a_batch_over_midnight_are_in_two_files),
		in_folder(batches_in_the_inbox_survive_a_restart),
		in_folder(a_moved_batch_is_moved_again_after_a_restart),
		in_folder(a_group_ends_before_the_second_batch_of_an_epoch),
		in_folder(a_full_head_is_flushed_by_the_next_write),
		in_folder(a_restart_flushes_batches_that_do_not_fit_into_the_head),
		in_folder(tenants_do_not_share_batches_or_definitions),
		in_folder(a_scan_selects_tenant_service_event_and_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
