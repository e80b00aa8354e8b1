/* SPDX-License-Identifier: Apache-2.0 */
#include "common/shell_word.h"

#include "tests/support/unit.h"

static void words_are_quoted_where_a_shell_would_read_them_otherwise(void **state)
{
	static const struct {
		const char *word, *expected;
	} cases[] = {
		{ "/usr/lib/libstdc++.so.6", "/usr/lib/libstdc++.so.6" },
		{ "[::1]:80", "'[::1]:80'" },
		{ "a b", "'a b'" },
		{ "$(reboot)", "'$(reboot)'" },
		{ "it's", "'it'\\''s'" },
		{ "two\nlines", "'two?lines'" },
		{ "", "''" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char text[64] = "";

		shell_word_append(cases[i].word, text, sizeof(text));
		assert_string_equal(text, cases[i].expected);
	}
}

static void a_word_that_does_not_fit_is_cut_and_its_quotes_are_closed(void **state)
{
	char text[12] = "cat ";

	(void)state;
	shell_word_append("; reboot now", text, sizeof(text));
	assert_string_equal(text, "cat '; reb'");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(words_are_quoted_where_a_shell_would_read_them_otherwise),
		cmocka_unit_test(a_word_that_does_not_fit_is_cut_and_its_quotes_are_closed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
