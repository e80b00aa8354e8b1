/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each case runs in a child with the filter. Sanitized programs have a filter that allows unlisted
 * calls (agent/system_calls.c).
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/system_calls.h"
#include "common/sanitized.h"

#define NO_FILTER 77

static int under_filter(int (*function)(void))
{
	pid_t pid = fork();
	int status;

	assert_true(pid >= 0);
	if (pid == 0)
		_exit(system_calls_restrict() == 1 ? function() : NO_FILTER);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (WIFEXITED(status) && WEXITSTATUS(status) == NO_FILTER)
		skip();
	return status;
}

static void *end_of_thread(void *arg)
{
	return arg;
}

static int do_what_the_agent_does(void)
{
	pthread_t thread;
	int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	char byte;
	pid_t child;

	if (fd < 0 || read(fd, &byte, 1) != 1 || close(fd) < 0)
		return 1;
	fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || close(fd) < 0)
		return 2;
	if (pthread_create(&thread, NULL, end_of_thread, NULL) != 0 ||
	    pthread_join(thread, NULL) != 0)
		return 3;
	child = fork();
	if (child == 0)
		_exit(0);
	if (child < 0 || waitpid(child, NULL, 0) != child)
		return 4;
	if (kill(getpid(), 0) < 0)
		return 5;
	return prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1 ? 0 : 6;
}

static void the_system_calls_of_the_agent_are_allowed(void **state)
{
	int status = under_filter(do_what_the_agent_does);

	(void)state;
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

static int make_unlisted_calls(void)
{
	if (SANITIZED)
		return 0;
	if (syscall(SYS_sethostname, "x", 1UL) != -1 || errno != ENOSYS)
		return 1;
	if (socket(AF_PACKET, SOCK_RAW, 0) != -1 || errno != ENOSYS)
		return 2;
	return kill(getpid(), SIGUSR1) == -1 && errno == ENOSYS ? 0 : 3;
}

static void an_unlisted_call_fails_with_enosys(void **state)
{
	int status = under_filter(make_unlisted_calls);

	(void)state;
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

static int ask_for_module_types(void)
{
	union bpf_attr attr = { .start_id = 0 };

	return syscall(SYS_bpf, BPF_BTF_GET_NEXT_ID, &attr, sizeof(attr)) == -1 && errno == ENOENT
		       ? 0
		       : 1;
}

static void kernel_modules_seem_to_have_no_types(void **state)
{
	int status = under_filter(ask_for_module_types);

	(void)state;
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

static int call_unshare(void)
{
	(void)unshare(CLONE_FILES);
	return 0;
}

static int call_listen(void)
{
	(void)listen(-1, 1);
	return 0;
}

static int call_setuid(void)
{
	(void)syscall(SYS_setuid, getuid());
	return 0;
}

static int call_process_vm_writev(void)
{
	(void)syscall(SYS_process_vm_writev, getpid(), NULL, 0UL, NULL, 0UL, 0UL);
	return 0;
}

static void a_forbidden_call_ends_the_process(void **state)
{
	int (*const calls[])(void) = { call_unshare, call_listen, call_setuid,
				       call_process_vm_writev };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(calls); i++) {
		int status = under_filter(calls[i]);

		assert_true(WIFSIGNALED(status));
		assert_int_equal(WTERMSIG(status), SIGSYS);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_system_calls_of_the_agent_are_allowed),
		cmocka_unit_test(an_unlisted_call_fails_with_enosys),
		cmocka_unit_test(kernel_modules_seem_to_have_no_types),
		cmocka_unit_test(a_forbidden_call_ends_the_process),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
