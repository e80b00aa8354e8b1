/* SPDX-License-Identifier: Apache-2.0 */
#include "common/shell_word.h"

#include "tests/support/unit.h"

static void words_that_a_shell_would_interpret_are_quoted(void **state)
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

static void a_truncated_word_has_closed_quotes(void **state)
{
	char text[12] = "cat ";

	(void)state;
	shell_word_append("; reboot now", text, sizeof(text));
	assert_string_equal(text, "cat '; reb'");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(words_that_a_shell_would_interpret_are_quoted),
		cmocka_unit_test(a_truncated_word_has_closed_quotes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
