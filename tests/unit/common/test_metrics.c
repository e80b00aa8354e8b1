/* SPDX-License-Identifier: Apache-2.0 */
#include "common/metrics.h"

#include "tests/support/unit.h"

static void rows_are_printed_in_the_text_format(void **state)
{
	static const struct metric_row rows[] = {
		{ "batches_total", METRIC_COUNTER, "result=\"ok\"", "Batches \\ by\nresult." },
		{ "batches_total", METRIC_COUNTER, "result=\"bad\"", "Batches \\ by\nresult." },
		{ "memory_bytes", METRIC_GAUGE, "", "Memory." },
	};
	scoped(bytes_release) struct bytes out = BYTES_INIT(10000);
	_Atomic uint64_t values[3] = {};

	(void)state;
	metric_add(values, 0, 3);
	metric_add(values, 0, 4);
	metric_set(values, 2, UINT64_MAX);
	assert_int_equal(metric_get(values, 0), 7);
	assert_ok(metrics_print("hearth_", rows, values, ARRAY_SIZE(rows), &out));
	assert_bytes_equal_text(&out, "# HELP hearth_batches_total Batches \\\\ by\\nresult.\n"
				      "# TYPE hearth_batches_total counter\n"
				      "hearth_batches_total{result=\"ok\"} 7\n"
				      "hearth_batches_total{result=\"bad\"} 0\n"
				      "# HELP hearth_memory_bytes Memory.\n"
				      "# TYPE hearth_memory_bytes gauge\n"
				      "hearth_memory_bytes 18446744073709551615\n");
}

static void a_full_buffer_is_reported(void **state)
{
	static const struct metric_row rows[] = { { "a", METRIC_GAUGE, "", "b" } };
	scoped(bytes_release) struct bytes out = BYTES_INIT(10);
	_Atomic uint64_t values[1] = {};

	(void)state;
	assert_errno(metrics_print("p_", rows, values, 1, &out), -EFBIG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_are_printed_in_the_text_format),
		cmocka_unit_test(a_full_buffer_is_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
