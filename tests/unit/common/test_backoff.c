/* SPDX-License-Identifier: Apache-2.0 */
#include "common/backoff.h"

#include "tests/support/unit.h"

static void waits_double_with_jitter_up_to_the_maximum(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < 200; seed++) {
		struct backoff backoff;
		uint64_t longest = 1000;

		backoff_init(&backoff, 1000, 60000, seed);
		for (int i = 0; i < 100; i++) {
			assert_in_range(backoff_failed(&backoff), longest / 2, longest);
			longest = MIN(longest * 2, UINT64_C(60000));
		}
	}
}

static void a_success_resets_the_wait_to_the_first(void **state)
{
	struct backoff backoff;

	(void)state;
	backoff_init(&backoff, 1000, 60000, 1);
	for (int i = 0; i < 5; i++)
		(void)backoff_failed(&backoff);
	backoff_succeeded(&backoff);
	assert_in_range(backoff_failed(&backoff), 500, 1000);
}

static void different_seeds_wait_differently(void **state)
{
	struct backoff a, b;
	int equal = 0;

	(void)state;
	backoff_init(&a, NSEC_PER_SEC, 60 * NSEC_PER_SEC, 1);
	backoff_init(&b, NSEC_PER_SEC, 60 * NSEC_PER_SEC, 2);
	for (int i = 0; i < 20; i++)
		equal += backoff_failed(&a) == backoff_failed(&b);
	assert_true(equal < 5);
}

static void extreme_bounds_do_not_overflow(void **state)
{
	struct backoff backoff;

	(void)state;
	backoff_init(&backoff, 1, UINT64_MAX, 3);
	for (int i = 0; i < 200; i++)
		assert_true(backoff_failed(&backoff) <= UINT64_MAX);
	backoff_init(&backoff, 0, 0, 3);
	assert_int_equal(backoff_failed(&backoff), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(waits_double_with_jitter_up_to_the_maximum),
		cmocka_unit_test(a_success_resets_the_wait_to_the_first),
		cmocka_unit_test(different_seeds_wait_differently),
		cmocka_unit_test(extreme_bounds_do_not_overflow),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
