/* SPDX-License-Identifier: Apache-2.0 */
#include "common/frame.h"

#include "tests/support/unit.h"

static void every_reason_for_a_cut_has_a_name(void **state)
{
	(void)state;
	assert_string_equal(stack_cut_name(STACK_CUT_NONE), "complete");
	assert_string_equal(stack_cut_name(STACK_CUT_NO_USER_REGS), "no-user-registers");
	for (unsigned int cut = 0; cut < STACK_CUT_END; cut++)
		assert_non_null(stack_cut_name(cut));
	assert_null(stack_cut_name(STACK_CUT_END));
	assert_null(stack_cut_name(UINT32_MAX));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_reason_for_a_cut_has_a_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
