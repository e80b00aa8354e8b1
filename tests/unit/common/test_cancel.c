/* SPDX-License-Identifier: Apache-2.0 */
#include "common/cancel.h"

#include "tests/support/unit.h"

static void work_is_ended_once_it_is_requested(void **state)
{
	struct cancel cancel = {};

	(void)state;
	assert_false(cancel_is_requested(NULL));
	assert_false(cancel_is_requested(&cancel));
	cancel_request(&cancel);
	assert_true(cancel_is_requested(&cancel));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(work_is_ended_once_it_is_requested),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
