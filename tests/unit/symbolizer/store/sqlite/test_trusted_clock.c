/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/symbolizer/store/sqlite/store_fixture.h"

#include "symbolizer/store/data_folder/trusted_clock.h"

#define HOUR_NS (3600 * NSEC_PER_SEC)
#define DAY_NS  (24 * HOUR_NS)

static void a_clock_that_advances_is_trusted(void **state)
{
	struct test_clock clock = test_clock_at(NOON);
	struct trusted_clock trusted = {};

	for (int i = 0; i < 100; i++) {
		trusted_clock_check(&trusted, &clock.clock, *state);
		assert_int_equal(trusted_clock_now(&trusted, &clock.clock), clock.wall_ns);
		clock.wall_ns += HOUR_NS;
	}
}

static void a_clock_that_jumps_ahead_is_in_doubt_also_after_a_restart(void **state)
{
	struct test_clock clock = test_clock_at(NOON);
	struct trusted_clock trusted = {};

	trusted_clock_check(&trusted, &clock.clock, *state);
	clock.wall_ns += 10 * DAY_NS;
	assert_int_equal(trusted_clock_now(&trusted, &clock.clock), NOON);
	for (int i = 0; i < 3; i++) {
		struct trusted_clock restarted = {};

		trusted_clock_load(&restarted, *state);
		trusted_clock_check(&restarted, &clock.clock, *state);
		assert_int_equal(trusted_clock_now(&restarted, &clock.clock), NOON);
	}
	/* The server's clock is set right. */
	trusted_clock_load(&trusted, *state);
	clock.wall_ns = NOON + HOUR_NS;
	trusted_clock_check(&trusted, &clock.clock, *state);
	assert_int_equal(trusted_clock_now(&trusted, &clock.clock), NOON + HOUR_NS);
}

/* Without batches of the new time, nothing says that the server's clock is right. */
static void only_a_day_of_batches_ends_a_doubt(void **state)
{
	struct test_clock clock = test_clock_at(NOON);
	struct trusted_clock trusted = {};

	trusted_clock_check(&trusted, &clock.clock, *state);
	clock.wall_ns += 20 * DAY_NS;
	for (int i = 0; i < 100; i++) {
		trusted_clock_check(&trusted, &clock.clock, *state);
		assert_int_equal(trusted_clock_now(&trusted, &clock.clock), NOON);
		clock.wall_ns += HOUR_NS;
	}
	for (int i = 0; i < 24; i++) {
		assert_int_equal(trusted_clock_now(&trusted, &clock.clock), NOON);
		trusted.batch_ns = clock.wall_ns;
		trusted_clock_check(&trusted, &clock.clock, *state);
		clock.wall_ns += HOUR_NS;
	}
	assert_int_equal(trusted_clock_now(&trusted, &clock.clock), clock.wall_ns);
}

static void a_clock_that_is_set_back_is_used(void **state)
{
	struct test_clock clock = test_clock_at(NOON);
	struct trusted_clock trusted = {};

	trusted_clock_check(&trusted, &clock.clock, *state);
	clock.wall_ns -= 2 * DAY_NS;
	trusted_clock_check(&trusted, &clock.clock, *state);
	assert_int_equal(trusted_clock_now(&trusted, &clock.clock), NOON - 2 * DAY_NS);
}

static void an_unusable_file_is_ignored(void **state)
{
	struct trusted_clock trusted = {};

	free(write_file_in(*state, TRUSTED_CLOCK_FILE, "99999999999999999999 x", 22));
	trusted_clock_load(&trusted, *state);
	assert_int_equal(trusted.wall_ns, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		in_folder(a_clock_that_advances_is_trusted),
		in_folder(a_clock_that_jumps_ahead_is_in_doubt_also_after_a_restart),
		in_folder(only_a_day_of_batches_ends_a_doubt),
		in_folder(a_clock_that_is_set_back_is_used),
		in_folder(an_unusable_file_is_ignored),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
