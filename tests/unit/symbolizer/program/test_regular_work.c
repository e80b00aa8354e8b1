/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/regular_work.h"

#include "tests/support/unit.h"

#define BEGIN (1000 * NSEC_PER_SEC)

/* SIGHUP ends the wait each second, for five minutes. */
static void work_is_due_in_time_however_often_a_signal_ends_the_wait(void **state)
{
	struct regular_work work = {};
	unsigned int n_tokens = 0, n_prunes = 0;

	(void)state;
	for (uint64_t second = 0; second < 300; second++) {
		unsigned int due = regular_work_take(&work, BEGIN + second * NSEC_PER_SEC);

		n_tokens += (due & REGULAR_TOKENS) != 0;
		n_prunes += (due & REGULAR_PRUNE) != 0;
	}
	assert_int_equal(n_tokens, 30);
	assert_int_equal(n_prunes, 5);
}

static void the_wait_ends_when_the_next_task_is_due(void **state)
{
	struct regular_work work = {};

	(void)state;
	assert_int_equal(regular_work_wait_ns(&work, BEGIN), 0);
	assert_int_equal(regular_work_take(&work, BEGIN), REGULAR_TOKENS | REGULAR_PRUNE);
	assert_int_equal(regular_work_wait_ns(&work, BEGIN), TOKENS_INTERVAL_NS);
	assert_int_equal(regular_work_wait_ns(&work, BEGIN + 4 * NSEC_PER_SEC),
			 TOKENS_INTERVAL_NS - 4 * NSEC_PER_SEC);
	assert_int_equal(regular_work_take(&work, BEGIN + TOKENS_INTERVAL_NS - 1), 0);
	assert_int_equal(regular_work_take(&work, BEGIN + TOKENS_INTERVAL_NS), REGULAR_TOKENS);
	assert_int_equal(regular_work_wait_ns(&work, BEGIN + 2 * PRUNE_INTERVAL_NS), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(work_is_due_in_time_however_often_a_signal_ends_the_wait),
		cmocka_unit_test(the_wait_ends_when_the_next_task_is_due),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
