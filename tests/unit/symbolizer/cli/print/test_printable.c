/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/cli/print/printable.h"

#include "tests/support/unit.h"

static void long_names_lose_their_middle_and_control_characters_are_replaced(void **state)
{
	static const struct {
		const char *name;
		int max_columns;
		const char *text;
		int columns;
	} cases[] = {
		{ "main", -1, "main", 4 },
		{ "main", 4, "main", 4 },
		{ "main", 3, "m…n", 3 },
		{ "main", 1, "…", 1 },
		{ "main", 2, "m…", 2 },
		{ "/usr/lib/libz.so.1", 11, "/usr/….so.1", 11 },
		{ "main", 0, "", 0 },
		{ "größe", 5, "größe", 5 },
		{ "größe", 4, "gr…e", 4 },
		{ "a\033[2Jb", -1, "a?[2Jb", 6 },
		{ "a\nb\x7f", -1, "a?b?", 4 },
		{ "a\xc2\x9b"
		  "31m",
		  -1, "a?31m", 5 }, /* the one-character form of ESC [ */
		{ "a\xc2\xa0", -1, "a\xc2\xa0", 2 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct bytes out = BYTES_INIT(KIB);

		assert_int_equal(printable_append(&out, cases[i].name, cases[i].max_columns),
				 cases[i].columns);
		assert_bytes_equal_text(&out, cases[i].text);
		bytes_release(&out);
	}
}

static void a_shell_joins_the_lines_of_a_command_again(void **state)
{
	static const struct {
		const char *command, *text;
	} cases[] = {
		{ "", "" },
		{ "hearth upload x", "  hearth upload x\n" },
		{ "hearth upload --server http://profiler.example.com:20416",
		  "  hearth upload --server \\\n    http://profiler.example.com:20416\n" },
		/* "it's a b" and "c d", as shell_word_append() writes them */
		{ "hearth upload 'it'\\''s a b' 'c d' /usr/lib/debug",
		  "  hearth upload 'it'\\''s a b' \\\n    'c d' /usr/lib/debug\n" },
		{ "hearth upload a\\ b /usr/lib/debug/xyz",
		  "  hearth upload a\\ b \\\n    /usr/lib/debug/xyz\n" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct bytes out = BYTES_INIT(KIB);

		printable_append_command(&out, cases[i].command, 2, 34);
		assert_bytes_equal_text(&out, cases[i].text);
		bytes_release(&out);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(long_names_lose_their_middle_and_control_characters_are_replaced),
		cmocka_unit_test(a_shell_joins_the_lines_of_a_command_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
