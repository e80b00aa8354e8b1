/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/query/group_sums.h"

#include "tests/unit/symbolizer/query/profile_fixture.h"

#define SERIES(id_, process_, tid_, name_, period_)                                                \
	{                                                                                          \
		.id = (id_), .tenant = "default", .process = &processes[process_], .tid = (tid_),  \
		.thread_name = (name_), .type = EVENT_ON_CPU, .cpu = -1, .period_ns = (period_),   \
		.first_slot = T0, .last_slot = T0 + 10 * SECOND                                    \
	}

/* A thread of "app" has two series, as after a change of the sampling frequency. */
static const struct store_series fleet[] = {
	SERIES(1, P_APP, 100, "app", 10),   SERIES(2, P_APP, 101, "worker", 10),
	SERIES(3, P_APP, 101, "worker", 5), SERIES(4, P_APP_BETA, 200, "app", 10),
	SERIES(5, P_SHOP, 300, "shop", 10), SERIES(6, P_HIDDEN, 400, "hidden", 10),
};

/* The last row is after the range. */
static const struct fake_row rows[] = {
	{ 1, 1, T0, 1 }, { 2, 1, T0 + 1, 2 },  { 3, 1, T0 + 2, 4 },
	{ 4, 1, T0, 9 }, { 6, 0, T0 + 3, 20 }, { 5, 1, T0 + 90 * SECOND, 7 },
};

static int sum(struct fixture *fixture, struct arena *arena, struct group_sums *ret_sums)
{
	scoped(store_view_closep) struct store_view *view = open_view(fixture->store, "default");

	FAKE_SET(fixture, series, fleet);
	FAKE_SET(fixture, rows, rows);
	return group_sums_query(view, &fixture->request, arena, ret_sums, fixture->message);
}

static void processes_are_sorted_by_value_and_count_threads_once(void **state)
{
	static const struct {
		uint32_t pid;
		uint64_t value, last_slot;
		uint32_t n_threads;
	} expected[] = {
		{ 400, 200, T0 + 3, 1 },
		{ 200, 90, T0, 1 },
		{ 100, 50, T0 + 2, 2 },
	};
	struct fixture *fixture = *state;
	scoped(arena_freep) struct arena *arena = NULL;
	struct group_sums sums;

	assert_ok(arena_new(MIB, &arena));
	fixture->request.service = NULL;
	assert_int_equal(sum(fixture, arena, &sums), 1);
	assert_int_equal(sums.count, ARRAY_SIZE(expected));
	assert_int_equal(sums.total, 340);
	for (size_t i = 0; i < sums.count; i++) {
		assert_int_equal(sums.rows[i].process->pid, expected[i].pid);
		assert_int_equal(sums.rows[i].value, expected[i].value);
		assert_int_equal(sums.rows[i].last_slot, expected[i].last_slot);
		assert_int_equal(sums.rows[i].n_threads, expected[i].n_threads);
	}
}

static void each_value_of_a_tag_is_a_group_and_series_without_it_are_one(void **state)
{
	static const struct {
		const char *group_by, *tag;
		uint64_t value;
		uint32_t n_hosts, n_processes, n_threads;
	} cases[] = {
		{ "host", "alpha", 250, 1, 2, 3 },          { "thread", "hidden", 200, 1, 1, 1 },
		{ "ip", "10.1.1.1,fe80::1", 250, 1, 2, 3 }, { "label.pod", NULL, 290, 2, 2, 2 },
		{ "app_service", "hidden", 200, 1, 1, 1 },
	};
	struct fixture *fixture = *state;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		scoped(arena_freep) struct arena *arena = NULL;
		struct group_sums sums;

		assert_ok(arena_new(MIB, &arena));
		fixture->request.service = NULL;
		fixture->request.group_by = cases[i].group_by;
		assert_int_equal(sum(fixture, arena, &sums), 1);
		if (cases[i].tag)
			assert_string_equal(sums.rows[0].tag, cases[i].tag);
		else
			assert_null(sums.rows[0].tag);
		assert_int_equal(sums.rows[0].value, cases[i].value);
		assert_int_equal(sums.rows[0].n_hosts, cases[i].n_hosts);
		assert_int_equal(sums.rows[0].n_processes, cases[i].n_processes);
		assert_int_equal(sums.rows[0].n_threads, cases[i].n_threads);
	}
}

static void sums_apply_service_and_filter_and_refuse_states(void **state)
{
	struct fixture *fixture = *state;
	scoped(arena_freep) struct arena *arena = NULL;
	struct group_sums sums;

	assert_ok(arena_new(MIB, &arena));
	fixture->request.service = "app";
	fixture->request.tag_filter = "host = 'beta'";
	assert_int_equal(sum(fixture, arena, &sums), 1);
	assert_int_equal(sums.count, 1);
	assert_int_equal(sums.total, 90);

	fixture->request.tag_filter = "host = 'gamma'";
	assert_int_equal(sum(fixture, arena, &sums), 0);
	assert_non_null(strstr(fixture->message, "selects none"));

	fixture->request.type = EVENT_MEM_INUSE;
	assert_int_equal(sum(fixture, arena, &sums), -EINVAL);
	assert_non_null(strstr(fixture->message, "no sum"));
}

static void damaged_blocks_are_reported(void **state)
{
	struct fixture *fixture = *state;
	scoped(arena_freep) struct arena *arena = NULL;
	struct group_sums sums;

	assert_ok(arena_new(MIB, &arena));
	fixture->request.service = NULL;
	fixture->fake.n_damaged_blocks = 2;
	assert_int_equal(sum(fixture, arena, &sums), 1);
	assert_int_equal(sums.n_damaged_blocks, 2);
	assert_string_equal(fixture->message, "2 damaged blocks of samples are left out");
}

static void the_error_for_a_misspelt_tag_suggests_the_nearest(void **state)
{
	static const struct {
		const char *group_by, *end;
	} cases[] = {
		{ "hots", "; did you mean 'host'?" },
		{ "zome", "; did you mean 'zone'?" },
		{ "xyzzy", ")" },
	};
	struct fixture *fixture = *state;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		scoped(arena_freep) struct arena *arena = NULL;
		struct group_sums sums;
		size_t length;

		assert_ok(arena_new(MIB, &arena));
		fixture->request.group_by = cases[i].group_by;
		assert_int_equal(sum(fixture, arena, &sums), -EINVAL);
		length = strlen(fixture->message) - strlen(cases[i].end);
		assert_string_equal(fixture->message + length, cases[i].end);
	}
}

#define SUMS_TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		SUMS_TEST(processes_are_sorted_by_value_and_count_threads_once),
		SUMS_TEST(each_value_of_a_tag_is_a_group_and_series_without_it_are_one),
		SUMS_TEST(sums_apply_service_and_filter_and_refuse_states),
		SUMS_TEST(damaged_blocks_are_reported),
		SUMS_TEST(the_error_for_a_misspelt_tag_suggests_the_nearest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
