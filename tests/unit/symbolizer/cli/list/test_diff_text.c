/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/cli/list/diff_text.h"

#include "symbolizer/cli/client/list_answer.h"
#include "tests/support/unit.h"

static const char answer_text[] =
	"{\"event\": \"on-cpu\", \"base\": {\"service\": \"demo\", \"total\": 2000000,"
	" \"covered_s\": 10}, \"after\": {\"service\": \"demo\", \"total\": 4000000,"
	" \"covered_s\": 0}, \"functions\": ["
	"{\"function\": \"sl\\u001bow\", \"state\": \"both\", \"base_self_value\": 1000000,"
	" \"self_value\": 3000000, \"base_total_value\": 1000000, \"total_value\": 3000000,"
	" \"self_change\": 25.0, \"total_change\": 25.0},"
	"{\"function\": \"gone\", \"state\": \"vanished\", \"base_self_value\": 500000,"
	" \"self_value\": 0, \"base_total_value\": 500000, \"total_value\": 0,"
	" \"self_change\": -25.0, \"total_change\": -25.0},"
	"{\"function\": \"fresh\", \"state\": \"appeared\", \"base_self_value\": 0,"
	" \"self_value\": 200000, \"base_total_value\": 0, \"total_value\": 1200000,"
	" \"self_change\": 5.0, \"total_change\": 30.0},"
	"{\"function\": \"main\", \"state\": \"both\", \"base_self_value\": 0, \"self_value\": 0,"
	" \"base_total_value\": 2000000, \"total_value\": 4000000,"
	" \"self_change\": -0.0001, \"total_change\": 0.0}]}";

static void rows_have_the_change_and_both_values(void **state)
{
	scoped(bytes_release) struct bytes out = BYTES_INIT(MIB);
	json_t *answer = json_loads(answer_text, 0, NULL);

	(void)state;
	diff_text_write(
		answer,
		&(struct diff_text_options){ .type = EVENT_ON_CPU, .max_rows = 3, .width = 80 },
		&out);
	assert_bytes_equal_text(&out, "demo, on-cpu: 2.00 s in 10 s before, 4.00 s after\n"
				      "      self       before        after  function\n"
				      "  +25.00 %       1.00 s       3.00 s  sl?ow\n"
				      "  -25.00 %       500 ms         0 us  gone (gone)\n"
				      "   +5.00 %         0 us       200 ms  fresh (new)\n"
				      "1 more (--rows 0 shows all)\n");
	json_decref(answer);
}

static void functions_that_grew_are_counted(void **state)
{
	static const struct {
		bool by_total;
		double percent;
		size_t count;
	} cases[] = {
		{ false, 4.9, 2 }, { false, 5, 1 }, { false, 25, 0 },
		{ true, 5, 2 },    { true, 26, 1 }, { true, 30, 0 },
	};
	json_t *answer = json_loads(answer_text, 0, NULL);

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const json_t *first = NULL;

		assert_int_equal(
			diff_text_grown(answer, cases[i].by_total, cases[i].percent, &first),
			cases[i].count);
		assert_int_equal(first != NULL, cases[i].count > 0);
	}
	json_decref(answer);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_have_the_change_and_both_values),
		cmocka_unit_test(functions_that_grew_are_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
