/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/symbolizer/store/sqlite/store_fixture.h"

#define DAY (24 * 3600 * NSEC_PER_SEC)

static size_t count_series(struct store_view *view)
{
	const struct store_series_query query = {};
	scoped(arena_freep) struct arena *arena = NULL;
	struct store_series *series;
	size_t count;

	assert_ok(arena_new(MIB, &arena));
	assert_ok(store_find_series(view, &query, arena, &series, &count));
	return count;
}

static void an_open_view_does_not_delay_retention(void **state)
{
	struct test_clock clock = test_clock_at(NOON);
	scoped(store_freep) struct store *store = open_store(*state, &clock);
	scoped_free char *path = path_in(*state, "samples-2026-01-01.db");
	scoped(store_view_closep) struct store_view *view = NULL;
	size_t removed;

	assert_int_equal(write_batch(store, batch_at(1, NOON, true)), STORE_STORED);
	view = open_view(store, "default");
	assert_int_equal(count_series(view), 1);
	assert_ok(sqlite_store_prune(store, NOON + DAY, &removed));
	assert_int_equal(removed, 1);
	assert_int_equal(access(path, F_OK), -1);
	assert_int_equal(count_series(view), 0);
}

static void more_views_than_readers_can_be_open(void **state)
{
	enum { N_VIEWS = 100 };
	struct test_clock clock = test_clock_at(NOON);
	scoped(store_freep) struct store *store = open_store(*state, &clock);
	struct store_view *views[N_VIEWS];

	assert_int_equal(write_batch(store, batch_at(1, NOON, true)), STORE_STORED);
	for (size_t i = 0; i < N_VIEWS; i++) {
		views[i] = open_view(store, i % 2 ? "other" : "default");
		assert_int_equal(count_series(views[i]), i % 2 ? 0 : 1);
	}
	assert_int_equal(write_batch(store, batch_at(2, NOON, false)), STORE_STORED);
	for (size_t i = 0; i < N_VIEWS; i++) {
		assert_int_equal(count_series(views[i]), i % 2 ? 0 : 1);
		assert_null(store_view_close(views[i]));
	}
}

static void a_sum_is_taken_from_the_memory_of_its_view(void **state)
{
	const struct store_sum_query query = {
		.series = &(struct store_sum_series){ .id = 1, .factor = 1 },
		.n_series = 1,
		.to_slot = UINT64_MAX,
	};
	struct test_clock clock = test_clock_at(NOON);
	scoped(store_freep) struct store *store = open_store(*state, &clock);
	struct memory_budget budget = { .limit_bytes = MIB };
	const struct store_view_options options = { .tenant = "default", .memory = &budget };
	scoped(store_view_closep) struct store_view *view = NULL;
	struct store_sums sums;

	assert_int_equal(write_batch(store, batch_at(1, NOON, true)), STORE_STORED);
	assert_ok(store_view_open(store, &options, &view));
	assert_ok(store_sum(view, &query, &sums));
	assert_true(budget.used_bytes > 0);
	store_sums_release(&sums);
	assert_int_equal(budget.used_bytes, 0);
	budget.limit_bytes = 1;
	assert_errno(store_sum(view, &query, &sums), -ENOMEM);
	assert_int_equal(budget.used_bytes, 0);
}

#define in_folder(test)                                                                            \
	cmocka_unit_test_setup_teardown(test, temp_folder_setup, temp_folder_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		in_folder(an_open_view_does_not_delay_retention),
		in_folder(more_views_than_readers_can_be_open),
		in_folder(a_sum_is_taken_from_the_memory_of_its_view),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
