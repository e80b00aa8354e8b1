/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/bpf_programs/kernel_btf.h"

#include "tests/support/unit.h"

static void need_btf(void)
{
	if (access("/sys/kernel/btf/vmlinux", R_OK) < 0)
		skip();
}

static void a_name_that_every_kernel_has_is_found(void **state)
{
	(void)state;
	need_btf();
	assert_true(kernel_btf_names("task_struct"));
	assert_true(kernel_btf_names("schedule"));
}

static void a_part_of_a_name_is_not_found(void **state)
{
	(void)state;
	need_btf();
	assert_false(kernel_btf_names("task_struc"));
	assert_false(kernel_btf_names("ask_struct"));
	assert_false(kernel_btf_names("no_kernel_has_this_function"));
}

static void a_name_longer_than_the_maximum_is_not_found(void **state)
{
	char name[2048];

	(void)state;
	memset(name, 'a', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	assert_false(kernel_btf_names(name));
}

static void the_arguments_of_a_tracepoint_are_counted(void **state)
{
	unsigned int n_arguments;

	(void)state;
	need_btf();
	/* Three before 5.18, then also the state. */
	n_arguments = kernel_btf_tracepoint_arguments("sched_switch");
	assert_in_range(n_arguments, 3, 4);
	/* task, old_pid, bprm */
	assert_int_equal(kernel_btf_tracepoint_arguments("sched_process_exec"), 3);
	assert_int_equal(kernel_btf_tracepoint_arguments("no_kernel_has_this_tracepoint"), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_name_that_every_kernel_has_is_found),
		cmocka_unit_test(a_part_of_a_name_is_not_found),
		cmocka_unit_test(a_name_longer_than_the_maximum_is_not_found),
		cmocka_unit_test(the_arguments_of_a_tracepoint_are_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
