/* SPDX-License-Identifier: Apache-2.0 */
#include "common/config_printed.h"

#include "tests/support/unit.h"

static void a_list_in_brackets_is_split_into_items(void **state)
{
	static const struct {
		const char *text, *items;
	} cases[] = {
		{ "[]", "" },
		{ "[a]", "a" },
		{ "[\"env=prod\",\"rack=r1\"]", "env=prod\nrack=r1" },
		{ "[env=prod, 'rack=r1']", "env=prod\nrack=r1" },
		{ " [ a , b ] ", "a\nb" },
		{ "[\"a,b\", \"c\\td\"]", "a,b\nc\td" },
		{ "[a, \"\"]", "a" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		scoped_free char *items = NULL;

		assert_ok(config_printed_list(cases[i].text, &items));
		assert_string_equal(items, cases[i].items);
	}
}

static void other_texts_than_lists_are_refused(void **state)
{
	static const char *const cases[] = {
		"",
		"a",
		"a,b",
		"[a",
		"[\"a\", \"b\"",
		"[a]b",
		"[::1]:20416",
		"[[a]]",
		"[{a: b}]",
		"[a]\n[b]",
		"[::1]:1,[::]:2",
		"[\"a\\nb\"]",
		"[\"a\\0b\"]",
		"[*a]",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		scoped_free char *items = NULL;

		if (config_printed_list(cases[i], &items) != -EINVAL)
			fail_msg("'%s' is a list of '%s'", cases[i], items);
	}
}

static void a_quoted_text_loses_its_quotes(void **state)
{
	static const struct {
		const char *text, *value;
	} cases[] = {
		{ "\"\"", "" },
		{ "\".*\"", ".*" },
		{ "\"a \\\"b\\\" \\\\ \\u00e9\"", "a \"b\" \\ \303\251" },
	};
	static const char *const others[] = {
		"", "a", "\"", "\"a", "\"a\"b", "\"a\": b", "\"a\\0\""
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		scoped_free char *value = NULL;

		assert_ok(config_printed_text(cases[i].text, &value));
		assert_string_equal(value, cases[i].value);
	}
	for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
		scoped_free char *value = NULL;

		assert_errno(config_printed_text(others[i], &value), -EINVAL);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_list_in_brackets_is_split_into_items),
		cmocka_unit_test(other_texts_than_lists_are_refused),
		cmocka_unit_test(a_quoted_text_loses_its_quotes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
