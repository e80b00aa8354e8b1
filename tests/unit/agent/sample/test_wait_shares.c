/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/sample/wait_shares.h"

#include "tests/support/unit.h"

static int setup(void **state)
{
	struct wait_shares *shares = calloc(1, sizeof(*shares));

	assert_non_null(shares);
	assert_ok(wait_shares_init(shares));
	*state = shares;
	return 0;
}

static int teardown(void **state)
{
	wait_shares_release(*state);
	free(*state);
	return 0;
}

/* A wait of @ns that was drawn one in 2^shift, as row @row. */
static void add(struct wait_shares *shares, uint32_t site_number, const struct abi_wait *wait,
		size_t row, uint64_t ns)
{
	struct wait_owner owner = { .process = 1, .tid = 2, .site = site_number };
	uint32_t site;

	assert_ok(wait_shares_add_time(shares, &owner, wait, &site));
	assert_ok(wait_shares_add_row(shares, site, wait, row, ns));
}

static void time_of_others_goes_to_rows_by_what_they_stand_for(void **state)
{
	struct window_row rows[] = { { .value = 1000 }, { .value = 3000 } };
	struct wait_shares *shares = *state;

	/* One in four: three like each. */
	add(shares, 0, &(struct abi_wait){ .others_ns = 5000, .weight_shift = 2 }, 0, 1000);
	add(shares, 0, &(struct abi_wait){ .others_ns = 7000, .weight_shift = 2 }, 1, 3000);
	wait_shares_settle(shares, rows);
	assert_int_equal(rows[0].value, 1000 + 3000);
	assert_int_equal(rows[1].value, 3000 + 9000);
}

static void a_thinner_lot_stands_for_more(void **state)
{
	struct window_row rows[] = { { .value = 1000 }, { .value = 1000 } };
	struct wait_shares *shares = *state;

	add(shares, 0, &(struct abi_wait){ .others_ns = 1000, .weight_shift = 1 }, 0, 1000);
	add(shares, 0, &(struct abi_wait){ .others_ns = 3000, .weight_shift = 2 }, 1, 1000);
	wait_shares_settle(shares, rows);
	assert_int_equal(rows[0].value, 2000);
	assert_int_equal(rows[1].value, 4000);
}

static void places_keep_their_own_time(void **state)
{
	struct window_row rows[] = { { .value = 10 }, { .value = 10 } };
	struct wait_shares *shares = *state;

	add(shares, 0, &(struct abi_wait){ .others_ns = 500, .weight_shift = 3 }, 0, 10);
	add(shares, 1, &(struct abi_wait){ .others_ns = 7, .weight_shift = 3 }, 1, 10);
	wait_shares_settle(shares, rows);
	assert_int_equal(rows[0].value, 510);
	assert_int_equal(rows[1].value, 17);
}

static void a_wait_that_taking_its_stack_made_longer_counts_as_long_as_others_were(void **state)
{
	static const struct {
		uint64_t others_ns, parts_ns[2];
	} cases[] = {
		/*
		 * 5 and 50 us, each with 10 us on top, and 16 of each without: shares of 1 to 10,
		 * not of 1 to 4.
		 */
		{ 880000, { 80000, 800000 } },
		/*
		 * Others are as long: the CPU that took the stack was not the one that woke the
		 * thread.
		 */
		{ 1200000, { 240000, 960000 } },
		/*
		 * Others are far shorter, by chance: more than the capture took it cannot have
		 * been.
		 */
		{ 330000, { 30000, 300000 } },
	};
	struct wait_shares *shares = *state;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct window_row rows[] = { { .value = 15000 }, { .value = 60000 } };

		add(shares, 0, &(struct abi_wait){ .capture_us = 10, .weight_shift = 4 }, 0, 15000);
		add(shares, 0,
		    &(struct abi_wait){ .others_ns = cases[i].others_ns,
					.n_others = 32,
					.capture_us = 10,
					.weight_shift = 4 },
		    1, 60000);
		wait_shares_settle(shares, rows);
		assert_int_equal(rows[0].value, 15000 + cases[i].parts_ns[0]);
		assert_int_equal(rows[1].value, 60000 + cases[i].parts_ns[1]);
	}
}

static void nothing_is_lost_to_rounding_nor_to_the_end_of_thinning(void **state)
{
	struct window_row rows[3] = {};
	struct wait_shares *shares = *state;

	/* Not thinned any more, but some were before; and waits too short for the clock. */
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		add(shares, 0, &(struct abi_wait){ .others_ns = i == 2 ? 1000 : 0 }, i,
		    i == 1 ? 0 : 7);
	wait_shares_settle(shares, rows);
	assert_int_equal(rows[0].value + rows[1].value + rows[2].value, 1000);
}

static void the_longest_waits_do_not_overflow(void **state)
{
	uint64_t hour_ns = 3600 * NSEC_PER_SEC;
	struct window_row rows[64] = {};
	struct wait_shares *shares = *state;
	uint64_t sum = 0;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		add(shares, 0, &(struct abi_wait){ .others_ns = hour_ns, .weight_shift = 16 }, i,
		    hour_ns);
	wait_shares_settle(shares, rows);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		sum += rows[i].value;
	assert_int_equal(sum, ARRAY_SIZE(rows) * hour_ns);
}

static void what_was_settled_is_forgotten(void **state)
{
	struct window_row rows[] = { { .value = 1 } };
	struct wait_shares *shares = *state;

	add(shares, 0, &(struct abi_wait){ .others_ns = 100, .weight_shift = 1 }, 0, 1);
	wait_shares_settle(shares, rows);
	wait_shares_settle(shares, rows);
	assert_int_equal(rows[0].value, 101);
	assert_int_equal(hash_table_count(shares->index), 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(time_of_others_goes_to_rows_by_what_they_stand_for),
		TEST(a_thinner_lot_stands_for_more),
		TEST(places_keep_their_own_time),
		TEST(a_wait_that_taking_its_stack_made_longer_counts_as_long_as_others_were),
		TEST(nothing_is_lost_to_rounding_nor_to_the_end_of_thinning),
		TEST(the_longest_waits_do_not_overflow),
		TEST(what_was_settled_is_forgotten),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
