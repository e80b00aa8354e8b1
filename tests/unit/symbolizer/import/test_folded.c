/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/symbolizer/import/imported.h"

static int read_folded(const struct import_request *request, const char *text, bool has_values,
		       struct imported *imported)
{
	int r = import_folded(request, text_view(text), has_values, &imported->result);

	if (r == 0)
		decode_imported(imported);
	return r;
}

static const struct import_request cpu = {
	.name = "app",
	.from_ns = TEST_NOW_NS - 10 * NSEC_PER_SEC,
	.until_ns = TEST_NOW_NS,
	.now_ns = TEST_NOW_NS,
	.sample_rate_hz = 100,
};

static void values_are_counts_of_the_period(void **state)
{
	scoped(imported_release) struct imported imported = {};

	(void)state;
	assert_ok(read_folded(&cpu, "main;work;inner 7\nmain;work 3\n\nmain 1", true, &imported));
	assert_int_equal(sum_of(imported.batches, "on-cpu"), 11 * UINT64_C(10000000));
	assert_int_equal(sum_of_stack(imported.batches, "on-cpu", "main;work;inner"), 7);
	assert_int_equal(sum_of_stack(imported.batches, "on-cpu", "main;work"), 3);
	assert_int_equal(sum_of_stack(imported.batches, "on-cpu", "main"), 1);
}

static void each_line_without_a_value_is_a_sample(void **state)
{
	scoped(imported_release) struct imported imported = {};

	(void)state;
	assert_ok(read_folded(&cpu, "main;work\r\nmain;work;inner\r\nmain;;work\r\n", false,
			      &imported));
	assert_int_equal(sum_of_stack(imported.batches, "on-cpu", "main;work"), 2);
	assert_int_equal(sum_of_stack(imported.batches, "on-cpu", "main;work;inner"), 1);
}

static void other_units_are_other_event_types(void **state)
{
	scoped(imported_release) struct imported imported = {};
	struct import_request request = cpu;

	(void)state;
	request.units = "lock_samples";
	assert_ok(read_folded(&request, "main 5\n", true, &imported));
	assert_int_equal(sum_of(imported.batches, "lock_samples"), 5);
	assert_int_equal(sum_of(imported.batches, "on-cpu"), 0);
}

static void lines_without_a_number_are_refused(void **state)
{
	static const struct {
		const char *text, *reason;
	} cases[] = {
		{ "main 1\nmain;work\n", "line 2 has no value" },
		{ "main 1 \n", "line 1 has no value" },
		{ "main x\n", "line 1: the value is no number" },
		{ "main -1\n", "line 1: the value is no number" },
		{ "main 99999999999999999999\n", "line 1: the value is no number, or too large" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		scoped(imported_release) struct imported imported = {};

		assert_errno(read_folded(&cpu, cases[i].text, true, &imported), -EBADMSG);
		if (!strstr(imported.result.reason, cases[i].reason))
			fail_msg("%s, not %s", imported.result.reason, cases[i].reason);
	}
}

static void names_with_a_wrong_form_are_refused(void **state)
{
	static const char *const names[] = { "app{region=eu", "app{region=eu}x", "app{region}" };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		scoped(imported_release) struct imported imported = {};
		struct import_request request = cpu;

		request.name = names[i];
		assert_errno(read_folded(&request, "main 1\n", true, &imported), -EBADMSG);
		assert_non_null(strstr(imported.result.reason, "name: "));
	}
}

static void a_label_may_name_service_host_and_process(void **state)
{
	scoped(imported_release) struct imported imported = {};
	struct import_request request = cpu;

	(void)state;
	request.name = "app{service_name=\"shop\", hostname=web-1,pid=77}";
	assert_ok(read_folded(&request, "main 1\n", true, &imported));
	assert_string_equal(imported.batches->processes[0].name, "shop");
	assert_string_equal(imported.batches->host.name, "web-1");
	assert_int_equal(imported.batches->processes[0].pid, 77);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values_are_counts_of_the_period),
		cmocka_unit_test(each_line_without_a_value_is_a_sample),
		cmocka_unit_test(other_units_are_other_event_types),
		cmocka_unit_test(lines_without_a_number_are_refused),
		cmocka_unit_test(names_with_a_wrong_form_are_refused),
		cmocka_unit_test(a_label_may_name_service_host_and_process),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
