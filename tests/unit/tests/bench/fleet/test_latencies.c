/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/unit.h"

#include "tests/bench/fleet/latencies.h"

static void a_percentile_is_a_value_that_enough_others_do_not_exceed(void **state)
{
	struct latencies latencies = {};

	(void)state;
	for (uint64_t i = 100; i > 0; i--)
		assert_ok(vec_push(&latencies, i * NSEC_PER_MSEC));
	assert_true(latencies_percentile_ms(&latencies, 50) == 50.0);
	assert_true(latencies_percentile_ms(&latencies, 99) == 99.0);
	assert_true(latencies_percentile_ms(&latencies, 99.5) == 100.0);
	assert_true(latencies_percentile_ms(&latencies, 100) == 100.0);
	assert_true(latencies_percentile_ms(&latencies, 0) == 1.0);
	vec_release(&latencies);
}

static void the_percentile_of_nothing_is_zero(void **state)
{
	struct latencies latencies = {};

	(void)state;
	assert_true(latencies_percentile_ms(&latencies, 99) == 0.0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_percentile_is_a_value_that_enough_others_do_not_exceed),
		cmocka_unit_test(the_percentile_of_nothing_is_zero),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
