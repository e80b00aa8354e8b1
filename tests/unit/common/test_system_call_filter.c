/* SPDX-License-Identifier: Apache-2.0 */
/* Each test loads its filter in a child. */
#include "common/system_call_filter.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/unit.h"

#define NO_FILTER 77

static const int failing[] = { SCMP_SYS(getppid), SCMP_SYS(umask) };
static const int killing[] = { SCMP_SYS(chroot) };
static const int allowed[] = { SCMP_SYS(getuid) };

static const struct system_call_list lists[] = {
	{ .action = SCMP_ACT_ERRNO(EXDEV), .calls = failing, .n_calls = ARRAY_SIZE(failing) },
	{ .action = SCMP_ACT_KILL_PROCESS, .calls = killing, .n_calls = ARRAY_SIZE(killing) },
	/* A list with the default action must be skipped. */
	{ .action = SCMP_ACT_ALLOW, .calls = allowed, .n_calls = ARRAY_SIZE(allowed) },
};

static int under_filter(int (*function)(void))
{
	const struct system_call_condition conditions[] = {
		{ SCMP_SYS(socket), SCMP_ACT_ERRNO(ENOTDIR), SCMP_A0(SCMP_CMP_EQ, AF_INET) },
		{ SCMP_SYS(getpgid), SCMP_ACT_ALLOW, SCMP_A0(SCMP_CMP_EQ, 0) },
	};
	const struct system_call_filter filter = {
		.default_action = SCMP_ACT_ALLOW,
		.lists = lists,
		.n_lists = ARRAY_SIZE(lists),
		.conditions = conditions,
		.n_conditions = ARRAY_SIZE(conditions),
	};
	pid_t pid = fork();
	int status;

	assert_true(pid >= 0);
	if (pid == 0) {
		(void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
		_exit(system_call_filter_load(&filter) == 1 ? function() : NO_FILTER);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (WIFEXITED(status) && WEXITSTATUS(status) == NO_FILTER)
		skip();
	return status;
}

static int call_getppid(void)
{
	return syscall(SYS_getppid) == -1 && errno == EXDEV ? 0 : 1;
}

static int call_getuid(void)
{
	return getuid() == (uid_t)-1;
}

static int open_sockets(void)
{
	int refused = socket(AF_INET, SOCK_STREAM, 0);
	int refused_errno = errno;
	int unix_fd = socket(AF_UNIX, SOCK_STREAM, 0);

	return refused == -1 && refused_errno == ENOTDIR && unix_fd >= 0 ? 0 : 1;
}

static int call_chroot(void)
{
	return chroot("/");
}

static void a_listed_call_has_the_action_of_its_list(void **state)
{
	(void)state;
	assert_int_equal(under_filter(call_getppid), 0);
	assert_int_equal(under_filter(call_getuid), 0);
}

static void a_condition_applies_to_its_argument_only(void **state)
{
	(void)state;
	assert_int_equal(under_filter(open_sockets), 0);
}

static void a_killing_list_ends_the_process(void **state)
{
	int status = under_filter(call_chroot);

	(void)state;
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGSYS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_listed_call_has_the_action_of_its_list),
		cmocka_unit_test(a_condition_applies_to_its_argument_only),
		cmocka_unit_test(a_killing_list_ends_the_process),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
