/* SPDX-License-Identifier: Apache-2.0 */
#include "common/clock.h"

#include <time.h>

#include "tests/support/unit.h"

static void the_monotonic_clock_does_not_go_back(void **state)
{
	uint64_t previous = clock_monotonic_ns(&system_clock);

	(void)state;
	for (int i = 0; i < 1000; i++) {
		uint64_t now = clock_monotonic_ns(&system_clock);

		assert_true(now >= previous);
		previous = now;
	}
}

static void the_wall_clock_agrees_with_time(void **state)
{
	uint64_t before = (uint64_t)time(NULL) - 1;
	uint64_t wall_s = clock_wall_ns(&system_clock) / NSEC_PER_SEC;

	(void)state;
	assert_in_range(wall_s, before, (uint64_t)time(NULL) + 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_monotonic_clock_does_not_go_back),
		cmocka_unit_test(the_wall_clock_agrees_with_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
