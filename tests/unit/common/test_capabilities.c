/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each test runs in a child, because dropped capabilities cannot be regained. The sets of an
 * unprivileged user are empty, and the tests pass too.
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
	/* Without CAP_SETPCAP the bounding set cannot be changed. */
	if (!(before & CAPABILITY_BIT(CAP_SETPCAP)))
		return 0;
	return prctl(PR_CAPBSET_READ, CAP_SYS_ADMIN, 0, 0, 0) == 0 ? 0 : 2;
}

static void all_capabilities_can_be_dropped(void **state)
{
	(void)state;
	assert_int_equal(in_child(give_up_all), 0);
}

static void only_kept_capabilities_remain(void **state)
{
	(void)state;
	assert_int_equal(in_child(keep_one), 0);
}

static void dropped_capabilities_cannot_be_regained(void **state)
{
	(void)state;
	assert_int_equal(in_child(ask_for_more), 0);
}

static void an_executed_program_cannot_regain_dropped_capabilities(void **state)
{
	(void)state;
	assert_int_equal(in_child(look_at_bounding_set), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_capabilities_can_be_dropped),
		cmocka_unit_test(only_kept_capabilities_remain),
		cmocka_unit_test(dropped_capabilities_cannot_be_regained),
		cmocka_unit_test(an_executed_program_cannot_regain_dropped_capabilities),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
