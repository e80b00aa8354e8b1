/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/cpu/cpu_list.h"

#include "tests/support/unit.h"

static void cpu_lists_of_the_kernel_are_parsed(void **state)
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

static void other_texts_are_refused(void **state)
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

static void by_default_every_online_cpu_that_is_not_isolated_is_sampled(void **state)
{
	struct cpu_vec cpus = {};

	(void)state;
	assert_ok(cpu_list_to_sample("", &cpus));
	assert_true(cpus.count >= 1);
	assert_true(cpus.count <= (size_t)sysconf(_SC_NPROCESSORS_ONLN));
	vec_release(&cpus);
}

static void offline_cpus_are_not_sampled(void **state)
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
		cmocka_unit_test(cpu_lists_of_the_kernel_are_parsed),
		cmocka_unit_test(other_texts_are_refused),
		cmocka_unit_test(by_default_every_online_cpu_that_is_not_isolated_is_sampled),
		cmocka_unit_test(offline_cpus_are_not_sampled),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
