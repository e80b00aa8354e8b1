/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/cli/list/regression_text.h"

#include "tests/support/unit.h"

static const char answer_text[] =
	"{\"event\": \"on-cpu\", \"confidence\": 99.9, \"judged\": 140,"
	" \"base\": {\"samples\": 640000}, \"after\": {\"service\": \"de\\u001bmo\","
	" \"samples\": 639000}, \"regressions\": ["
	"{\"function\": \"hot\", \"of\": \"self\", \"base_share\": 20, \"share\": 28.5,"
	" \"change\": 8.5, \"change_interval\": [7.9, 9.1], \"growth\": 42.5},"
	"{\"function\": \"parse\", \"of\": \"total\", \"base_share\": 0, \"share\": 6,"
	" \"change\": 6, \"change_interval\": [4, 8], \"growth\": null}],"
	" \"moved\": [{\"function\": \"v2\", \"of\": \"self\", \"base_share\": 0, \"share\": 5,"
	" \"change\": 5, \"change_interval\": [4, 6], \"growth\": null, \"within\": \"run\"}],"
	" \"went_away\": [], \"improved\": []}";

static void rows_have_the_change_with_its_interval(void **state)
{
	scoped(bytes_release) struct bytes out = BYTES_INIT(MIB);
	json_t *answer = json_loads(answer_text, 0, NULL);

	(void)state;
	regression_text_write(answer, 1, 100, &out);
	assert_bytes_equal_text(
		&out,
		"de?mo, on-cpu: 640000 samples before, 639000 samples after, confidence 99.9 %, "
		"140 functions judged\n"
		"regressions:\n"
		"  +8.50 points (+7.90 to +9.10)  20.00 % -> 28.50 %   +42.5 %  hot\n"
		"  1 more (--rows 0 shows all)\n"
		"moved within a subtree, no regression:\n"
		"  +5.00 points (+4.00 to +6.00)   0.00 % ->  5.00 %       new  v2 (within run)\n");
	json_decref(answer);
}

/* A regression fails only if the low end of its interval is above the limit. */
static void regressions_above_the_limit_are_counted(void **state)
{
	json_t *answer = json_loads(answer_text, 0, NULL);
	const json_t *first = NULL;

	(void)state;
	assert_int_equal(regression_text_above(answer, 3.9, &first), 2);
	assert_int_equal(regression_text_above(answer, 4, &first), 1);
	assert_string_equal(json_string_value(json_object_get(first, "function")), "hot");
	assert_int_equal(regression_text_above(answer, 8, &first), 0);
	json_decref(answer);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_have_the_change_with_its_interval),
		cmocka_unit_test(regressions_above_the_limit_are_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
