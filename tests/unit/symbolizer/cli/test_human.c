/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/cli/human.h"

#include "tests/support/unit.h"

static void values_have_three_digits_and_the_unit_of_their_type(void **state)
{
	static const struct {
		enum event_type type;
		uint64_t value;
		const char *text;
	} cases[] = {
		{ EVENT_ON_CPU, 0, "0 us" },
		{ EVENT_ON_CPU, 999, "999 us" },
		{ EVENT_ON_CPU, 1000, "1.00 ms" },
		{ EVENT_ON_CPU, 10101, "10.1 ms" },
		{ EVENT_OFF_CPU, 999499, "999 ms" },
		{ EVENT_OFF_CPU, 999500, "1.00 s" },
		{ EVENT_ON_CPU, 59949999, "59.9 s" },
		{ EVENT_ON_CPU, 59950000, "1 m" },
		{ EVENT_ON_CPU, 61000000, "1 m 1 s" },
		{ EVENT_ON_CPU, UINT64_C(5400) * 1000000, "1 h 30 m" },
		{ EVENT_ON_CPU, UINT64_C(90000) * 1000000, "1 d 1 h" },
		{ EVENT_MEM_ALLOC, 999, "999 B" },
		{ EVENT_MEM_ALLOC, 1000, "0.98 KiB" },
		{ EVENT_MEM_INUSE, 5 * MIB, "5.00 MiB" },
		{ EVENT_MEM_INUSE, UINT64_MAX, "16.0 EiB" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char text[HUMAN_SIZE];

		human_value(cases[i].type, cases[i].value, text);
		assert_string_equal(text, cases[i].text);
	}
}

static void shares_have_one_decimal(void **state)
{
	static const struct {
		uint64_t part, whole;
		const char *text;
	} cases[] = {
		{ 0, 0, "0.0 %" },
		{ 1, 3, "33.3 %" },
		{ 7, 7, "100.0 %" },
		{ UINT64_MAX, 1, "999.9 %" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char text[HUMAN_SIZE];

		human_share(cases[i].part, cases[i].whole, text);
		assert_string_equal(text, cases[i].text);
	}
}

static void ages_get_coarser_as_they_grow(void **state)
{
	static const struct {
		uint64_t seconds;
		const char *text;
	} cases[] = {
		{ 0, "just now" },     { 12, "12 s ago" },     { 600, "10 m ago" },
		{ 36000, "10 h ago" }, { 864000, "10 d ago" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char text[HUMAN_SIZE];

		human_age(cases[i].seconds, text);
		assert_string_equal(text, cases[i].text);
	}
}

static void names_are_cut_by_characters_and_cannot_command_the_terminal(void **state)
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

		assert_int_equal(human_append(&out, cases[i].name, cases[i].max_columns),
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

		human_append_command(&out, cases[i].command, 2, 34);
		assert_bytes_equal_text(&out, cases[i].text);
		bytes_release(&out);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values_have_three_digits_and_the_unit_of_their_type),
		cmocka_unit_test(shares_have_one_decimal),
		cmocka_unit_test(ages_get_coarser_as_they_grow),
		cmocka_unit_test(a_shell_joins_the_lines_of_a_command_again),
		cmocka_unit_test(names_are_cut_by_characters_and_cannot_command_the_terminal),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
