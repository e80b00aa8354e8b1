/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/event/off_cpu/skipped_waits.h"

#include "tests/support/unit.h"

static int setup(void **state)
{
	struct skipped_waits *waits = calloc(1, sizeof(*waits));

	assert_non_null(waits);
	assert_ok(skipped_waits_init(waits));
	*state = waits;
	return 0;
}

static int teardown(void **state)
{
	skipped_waits_release(*state);
	free(*state);
	return 0;
}

/* Adds a wait of @ns with a captured stack as row @row. */
static void add(struct skipped_waits *waits, uint32_t site_number, const struct abi_wait *wait,
		size_t row, uint64_t ns)
{
	struct wait_site_key key = { .process = 1, .tid = 2, .site = site_number };
	uint32_t site;

	assert_ok(skipped_waits_add_time(waits, &key, wait, &site));
	assert_ok(skipped_waits_add_row(waits, site, wait, row, ns));
}

static void skipped_time_is_distributed_by_the_number_of_waits_that_a_row_stands_for(void **state)
{
	struct window_row rows[] = { { .value = 1000 }, { .value = 3000 } };
	struct skipped_waits *waits = *state;

	/* One wait in four was captured: each row stands for three skipped ones. */
	add(waits, 0, &(struct abi_wait){ .others_ns = 5000, .weight_shift = 2 }, 0, 1000);
	add(waits, 0, &(struct abi_wait){ .others_ns = 7000, .weight_shift = 2 }, 1, 3000);
	skipped_waits_distribute(waits, rows);
	assert_int_equal(rows[0].value, 1000 + 3000);
	assert_int_equal(rows[1].value, 3000 + 9000);
}

static void a_row_captured_at_a_lower_rate_gets_more(void **state)
{
	struct window_row rows[] = { { .value = 1000 }, { .value = 1000 } };
	struct skipped_waits *waits = *state;

	add(waits, 0, &(struct abi_wait){ .others_ns = 1000, .weight_shift = 1 }, 0, 1000);
	add(waits, 0, &(struct abi_wait){ .others_ns = 3000, .weight_shift = 2 }, 1, 1000);
	skipped_waits_distribute(waits, rows);
	assert_int_equal(rows[0].value, 2000);
	assert_int_equal(rows[1].value, 4000);
}

static void skipped_time_stays_within_its_site(void **state)
{
	struct window_row rows[] = { { .value = 10 }, { .value = 10 } };
	struct skipped_waits *waits = *state;

	add(waits, 0, &(struct abi_wait){ .others_ns = 500, .weight_shift = 3 }, 0, 10);
	add(waits, 1, &(struct abi_wait){ .others_ns = 7, .weight_shift = 3 }, 1, 10);
	skipped_waits_distribute(waits, rows);
	assert_int_equal(rows[0].value, 510);
	assert_int_equal(rows[1].value, 17);
}

static void the_time_that_capturing_took_is_not_counted_as_waiting(void **state)
{
	static const struct {
		uint64_t others_ns, parts_ns[2];
	} cases[] = {
		/*
		 * Waits of 5 and 50 us, both lengthened by 10 us; 16 of each kind were skipped.
		 * The ratio of the parts is 1 to 10, not 1 to 4.
		 */
		{ 880000, { 80000, 800000 } },
		/*
		 * Skipped waits are as long as captured ones: the CPU that captured the stack was
		 * not the CPU that woke the thread.
		 */
		{ 1200000, { 240000, 960000 } },
		/*
		 * Skipped waits are far shorter, by chance: the lengthening is limited to the time
		 * that capturing took.
		 */
		{ 330000, { 30000, 300000 } },
	};
	struct skipped_waits *waits = *state;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct window_row rows[] = { { .value = 15000 }, { .value = 60000 } };

		add(waits, 0, &(struct abi_wait){ .capture_us = 10, .weight_shift = 4 }, 0, 15000);
		add(waits, 0,
		    &(struct abi_wait){ .others_ns = cases[i].others_ns,
					.n_others = 32,
					.capture_us = 10,
					.weight_shift = 4 },
		    1, 60000);
		skipped_waits_distribute(waits, rows);
		assert_int_equal(rows[0].value, 15000 + cases[i].parts_ns[0]);
		assert_int_equal(rows[1].value, 60000 + cases[i].parts_ns[1]);
	}
}

static void no_time_is_lost_to_rounding_or_when_skipping_ends(void **state)
{
	struct window_row rows[3] = {};
	struct skipped_waits *waits = *state;

	/*
	 * The last wait reports skipped ones although its own rate is 1. The wait of 0 ns is
	 * shorter than the clock can measure.
	 */
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		add(waits, 0, &(struct abi_wait){ .others_ns = i == 2 ? 1000 : 0 }, i,
		    i == 1 ? 0 : 7);
	skipped_waits_distribute(waits, rows);
	assert_int_equal(rows[0].value + rows[1].value + rows[2].value, 1000);
}

static void the_longest_waits_do_not_overflow(void **state)
{
	uint64_t hour_ns = 3600 * NSEC_PER_SEC;
	struct window_row rows[64] = {};
	struct skipped_waits *waits = *state;
	uint64_t sum = 0;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		add(waits, 0, &(struct abi_wait){ .others_ns = hour_ns, .weight_shift = 16 }, i,
		    hour_ns);
	skipped_waits_distribute(waits, rows);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		sum += rows[i].value;
	assert_int_equal(sum, ARRAY_SIZE(rows) * hour_ns);
}

static void distributing_clears_all_rows_and_sites(void **state)
{
	struct window_row rows[] = { { .value = 1 } };
	struct skipped_waits *waits = *state;

	add(waits, 0, &(struct abi_wait){ .others_ns = 100, .weight_shift = 1 }, 0, 1);
	skipped_waits_distribute(waits, rows);
	skipped_waits_distribute(waits, rows);
	assert_int_equal(rows[0].value, 101);
	assert_int_equal(hash_table_count(waits->index), 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(skipped_time_is_distributed_by_the_number_of_waits_that_a_row_stands_for),
		TEST(a_row_captured_at_a_lower_rate_gets_more),
		TEST(skipped_time_stays_within_its_site),
		TEST(the_time_that_capturing_took_is_not_counted_as_waiting),
		TEST(no_time_is_lost_to_rounding_or_when_skipping_ends),
		TEST(the_longest_waits_do_not_overflow),
		TEST(distributing_clears_all_rows_and_sites),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
