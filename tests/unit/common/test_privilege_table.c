/* SPDX-License-Identifier: Apache-2.0 */
#include "common/privilege_table.h"

#include <linux/capability.h>

#include "common/capabilities.h"
#include "tests/support/unit.h"

static void a_broader_capability_replaces_some(void **state)
{
	const uint64_t admin = CAPABILITY_BIT(CAP_SYS_ADMIN);

	(void)state;
	assert_true(privilege_is_in(PRIVILEGE_BPF, admin));
	assert_true(privilege_is_in(PRIVILEGE_PERFMON, admin));
	assert_false(privilege_is_in(PRIVILEGE_SYS_PTRACE, admin));
	assert_false(privilege_is_in(PRIVILEGE_SYSLOG, admin));
}

static void each_capability_counts_only_for_itself(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < PRIVILEGE_COUNT; i++) {
		const struct privilege_row *row = privilege_row(i);

		assert_true(privilege_is_in(i, row->bit));
		assert_true(privilege_is_in(i, row->alternative));
		assert_false(privilege_is_in(i, ~(row->bit | row->alternative)));
		assert_true(row->name[0] && row->loss[0]);
	}
}

static void only_the_limit_of_locked_memory_is_raised_at_start(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < PRIVILEGE_COUNT; i++)
		assert_int_equal(privilege_row(i)->time == PRIVILEGE_AT_START,
				 i == PRIVILEGE_SYS_RESOURCE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_broader_capability_replaces_some),
		cmocka_unit_test(each_capability_counts_only_for_itself),
		cmocka_unit_test(only_the_limit_of_locked_memory_is_raised_at_start),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
