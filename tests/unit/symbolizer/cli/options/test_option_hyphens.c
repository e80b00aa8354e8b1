/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/cli/options/option_hyphens.h"

#include "tests/support/unit.h"

static void underscores_in_flags_become_hyphens_and_values_do_not_change(void **state)
{
	char *argv[] = {
		(char[]){ "a_b" },        (char[]){ "--token_file=/a_b" },
		(char[]){ "my_service" }, (char[]){ "--fold_threads" },
		(char[]){ "-f_" },        (char[]){ "--" },
		(char[]){ "--my_file" },
	};
	static const char *const expected[] = {
		"a_b", "--token-file=/a_b", "my_service", "--fold-threads", "-f_",
		"--",  "--my_file",
	};

	(void)state;
	option_hyphens_replace(ARRAY_SIZE(argv), argv);
	for (size_t i = 0; i < ARRAY_SIZE(argv); i++)
		assert_string_equal(argv[i], expected[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(underscores_in_flags_become_hyphens_and_values_do_not_change),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
