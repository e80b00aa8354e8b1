/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/cpu/cpu_list.h"

#include "tests/support/unit.h"

static void lists_are_read_as_the_kernel_writes_them(void **state)
{
	static const struct {
		const char *text;
		size_t count;
		uint32_t cpus[8];
	} cases[] = {
		{ "", 0, {} },
		{ "\n", 0, {} },
		{ "0\n", 1, { 0 } },
		{ "0-3", 4, { 0, 1, 2, 3 } },
		{ "0-1,8", 3, { 0, 1, 8 } },
		{ "5,7-8\n", 3, { 5, 7, 8 } },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct cpu_vec cpus = {};

		assert_ok(cpu_list_parse(cases[i].text, &cpus));
		assert_int_equal(cpus.count, cases[i].count);
		for (size_t j = 0; j < cpus.count; j++)
			assert_int_equal(cpus.items[j], cases[i].cpus[j]);
		vec_release(&cpus);
	}
}

static void anything_else_is_refused(void **state)
{
	static const char *const cases[] = { "a",   "1-",       "-1",  "3-1",  "1,,2",
					     "1 2", "99999999", "0x1", "1-2-3" };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct cpu_vec cpus = {};

		assert_errno(cpu_list_parse(cases[i], &cpus), -EINVAL);
		vec_release(&cpus);
	}
}

static void without_a_wish_every_online_cpu_that_nobody_set_aside_is_sampled(void **state)
{
	struct cpu_vec cpus = {};

	(void)state;
	assert_ok(cpu_list_to_sample("", &cpus));
	assert_true(cpus.count >= 1);
	assert_true(cpus.count <= (size_t)sysconf(_SC_NPROCESSORS_ONLN));
	vec_release(&cpus);
}

static void cpus_that_are_not_online_are_left_out(void **state)
{
	struct cpu_vec cpus = {};

	(void)state;
	assert_ok(cpu_list_to_sample("0,60000", &cpus));
	assert_int_equal(cpus.count, 1);
	assert_int_equal(cpus.items[0], 0);
	vec_release(&cpus);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lists_are_read_as_the_kernel_writes_them),
		cmocka_unit_test(anything_else_is_refused),
		cmocka_unit_test(without_a_wish_every_online_cpu_that_nobody_set_aside_is_sampled),
		cmocka_unit_test(cpus_that_are_not_online_are_left_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
