/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In children, because what is given up does not come back. As an ordinary user the sets are empty
 * from the start, and the same holds.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>

#include <cmocka.h>

#include <linux/capability.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/capabilities.h"

static int in_child(int (*function)(void))
{
	pid_t pid = fork();
	int status;

	assert_true(pid >= 0);
	if (pid == 0)
		_exit(function());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static int give_up_all(void)
{
	uint64_t left = 1;

	if (capabilities_limit(0) < 0 || capabilities_permitted(&left) < 0)
		return 1;
	return left == 0 ? 0 : 2;
}

static int keep_one(void)
{
	uint64_t before, left;

	if (capabilities_permitted(&before) < 0 ||
	    capabilities_limit(CAPABILITY_BIT(CAP_SYS_PTRACE)) < 0 ||
	    capabilities_permitted(&left) < 0)
		return 1;
	return left == (before & CAPABILITY_BIT(CAP_SYS_PTRACE)) ? 0 : 2;
}

static int ask_for_more(void)
{
	uint64_t left;

	if (capabilities_limit(CAPABILITY_BIT(CAP_SYS_PTRACE)) < 0 ||
	    capabilities_limit(UINT64_MAX) < 0 || capabilities_permitted(&left) < 0)
		return 1;
	return left & ~CAPABILITY_BIT(CAP_SYS_PTRACE) ? 2 : 0;
}

static int look_at_bounding_set(void)
{
	uint64_t before;

	if (capabilities_permitted(&before) < 0 ||
	    capabilities_limit(CAPABILITY_BIT(CAP_SYS_PTRACE)) < 0)
		return 1;
	/* Without CAP_SETPCAP it cannot be changed. */
	if (!(before & CAPABILITY_BIT(CAP_SETPCAP)))
		return 0;
	return prctl(PR_CAPBSET_READ, CAP_SYS_ADMIN, 0, 0, 0) == 0 ? 0 : 2;
}

static void all_capabilities_can_be_given_up(void **state)
{
	(void)state;
	assert_int_equal(in_child(give_up_all), 0);
}

static void what_is_kept_is_left_and_nothing_else(void **state)
{
	(void)state;
	assert_int_equal(in_child(keep_one), 0);
}

static void what_was_given_up_does_not_come_back(void **state)
{
	(void)state;
	assert_int_equal(in_child(ask_for_more), 0);
}

static void a_program_that_is_executed_later_cannot_regain_them(void **state)
{
	(void)state;
	assert_int_equal(in_child(look_at_bounding_set), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_capabilities_can_be_given_up),
		cmocka_unit_test(what_is_kept_is_left_and_nothing_else),
		cmocka_unit_test(what_was_given_up_does_not_come_back),
		cmocka_unit_test(a_program_that_is_executed_later_cannot_regain_them),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
