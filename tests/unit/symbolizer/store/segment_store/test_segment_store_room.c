/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The space of the inbox after a stop, and memory. Retention and full disks: contract/test_room.c.
 */

#include "tests/unit/symbolizer/store/segment_store/segment_store_fixture.h"

static void a_clean_stop_leaves_no_batch_in_the_inbox(void **state)
{
	const struct test_clock clock = test_clock_at(NOON);
	struct store *store = open_segment_store(*state, &clock.clock, 0);
	struct segment_db *db;
	const struct segment_db_options options = { .folder = *state,
						    .decoder = segment_test_decoder(),
						    .max_head_bytes = MIB,
						    .max_numbers_bytes = MIB,
						    .max_agents = 512 };

	assert_int_equal(write_batch(store, batch_at(1, NOON, true)), STORE_STORED);
	(void)store_free(store);
	assert_ok(segment_db_open(&options, &db));
	assert_int_equal(segment_db_head_bytes(db), 0);
	(void)segment_db_free(db);

	store = open_segment_store(*state, &clock.clock, 0);
	assert_totals(store, 0, 0, 3, 7);
	assert_int_equal(write_batch(store, batch_at(1, NOON, true)), STORE_DUPLICATE);
	assert_int_equal(write_batch(store, batch_at(2, NOON, false)), STORE_STORED);
	assert_totals(store, 0, 0, 6, 14);
	(void)store_free(store);
}

/* Answers with a budget of @limit_bytes: 0 or the error. All memory is given back. */
static int answer_within(struct store *store, uint64_t limit_bytes)
{
	struct memory_budget budget = { .limit_bytes = limit_bytes };
	const struct store_view_options options = { .tenant = "default", .memory = &budget };
	const struct store_series_query query = {};
	scoped(arena_freep) struct arena *arena = NULL;
	struct store_sum_series summed = { .factor = 1 };
	struct store_sums sums = {};
	struct store_series *series;
	struct store_view *view = NULL;
	size_t count;
	int r;

	assert_ok(arena_new(MIB, &arena));
	r = store_view_open(store, &options, &view);
	if (r == 0)
		r = store_find_series(view, &query, arena, &series, &count);
	if (r == 0) {
		const struct store_sum_query sum = { .series = &summed,
						     .n_series = 1,
						     .to_slot = UINT64_MAX };

		summed.id = series[0].id;
		r = store_sum(view, &sum, &sums);
	}
	store_sums_release(&sums);
	(void)store_view_close(view);
	assert_int_equal(budget.used_bytes, 0);
	return r;
}

/* Rows in memory, and then the same in segments. Each step has some KiB more. */
static void a_query_beyond_its_memory_fails_and_keeps_nothing(void **state)
{
	const struct test_clock clock = test_clock_at(NOON + 4 * 3600 * NSEC_PER_SEC);
	scoped(store_freep) struct store *store = open_segment_store(*state, &clock.clock, 0);

	for (uint64_t i = 1; i <= 50; i++)
		assert_int_equal(write_batch(store, batch_at(i, NOON + i * NSEC_PER_SEC, i == 1)),
				 STORE_STORED);
	for (int settled = 0; settled < 2; settled++) {
		uint64_t limit = 1;
		int r;

		while ((r = answer_within(store, limit)) < 0) {
			assert_errno(r, -ENOMEM);
			limit += 8 * KIB;
			assert_true(limit < 256 * MIB);
		}
		assert_true(limit > 1);
		assert_ok(segment_store_settle(store));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		in_folder(a_clean_stop_leaves_no_batch_in_the_inbox),
		in_folder(a_query_beyond_its_memory_fails_and_keeps_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
