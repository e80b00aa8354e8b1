/* SPDX-License-Identifier: Apache-2.0 */
#include "common/pattern.h"

#include "tests/support/unit.h"

static struct pattern *compile(const char *text, bool ignore_case)
{
	struct pattern *pattern = NULL;
	char message[128];
	size_t offset;

	assert_ok(pattern_new(text, ignore_case, message, sizeof(message), &offset, &pattern));
	return pattern;
}

static void patterns_match_anywhere_in_the_text(void **state)
{
	static const struct {
		const char *pattern;
		bool ignore_case;
		const char *text;
		int matches;
	} cases[] = {
		{ "b+", false, "abbbc", 1 },
		{ "^b", false, "abc", 0 },
		{ "JAVA", false, "java", 0 },
		{ "JAVA", true, "java", 1 },
		{ "", false, "", 1 },
		{ "^$", false, "x", 0 },
		{ "(a|b)c$", false, "xxbc", 1 },
		{ "^.$", false, "\xc3\xa4", 1 },
		{ "b", false,
		  "\xff\xfe"
		  "b",
		  1 },
		{ "\xc3\x84", true, "\xc3\xa4", 1 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		scoped(pattern_freep) struct pattern *pattern =
			compile(cases[i].pattern, cases[i].ignore_case);

		assert_int_equal(pattern_matches(pattern, cases[i].text, strlen(cases[i].text)),
				 cases[i].matches);
	}
}

static void an_error_in_a_pattern_has_a_message_and_an_offset(void **state)
{
	static const struct {
		const char *text;
		size_t offset;
	} cases[] = { { "a(b", 3 }, { "a[b", 3 }, { "*a", 0 }, { "ab\\", 3 } };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct pattern *pattern = NULL;
		char message[128] = "";
		size_t offset = 99;

		assert_errno(pattern_new(cases[i].text, false, message, sizeof(message), &offset,
					 &pattern),
			     -EINVAL);
		assert_int_equal(offset, cases[i].offset);
		assert_true(strlen(message) > 5);
		assert_null(pattern);
	}
}

static void a_truncated_message_ends_in_nul(void **state)
{
	struct pattern *pattern = NULL;
	char message[8];
	size_t offset;

	(void)state;
	assert_errno(pattern_new("a(b", false, message, sizeof(message), &offset, &pattern),
		     -EINVAL);
	assert_true(strnlen(message, sizeof(message)) < sizeof(message));
}

static void catastrophic_backtracking_exceeds_a_limit(void **state)
{
	static const char *const patterns[] = { "(a+)+$", "(a|aa)+$", "(.*)*x$" };
	char text[4096];

	(void)state;
	memset(text, 'a', sizeof(text));
	text[sizeof(text) - 1] = '!';
	for (size_t i = 0; i < ARRAY_SIZE(patterns); i++) {
		scoped(pattern_freep) struct pattern *pattern = compile(patterns[i], false);

		assert_true(pattern_matches(pattern, text, sizeof(text)) <= 0);
	}
	{
		scoped(pattern_freep) struct pattern *pattern = compile("(a+)+$", false);

		assert_errno(pattern_matches(pattern, text, sizeof(text)), -E2BIG);
	}
}

static void an_overlong_pattern_is_refused(void **state)
{
	static char text[100000];
	struct pattern *pattern = NULL;
	char message[128];
	size_t offset;

	(void)state;
	memset(text, 'a', sizeof(text) - 1);
	assert_errno(pattern_new(text, false, message, sizeof(message), &offset, &pattern),
		     -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(patterns_match_anywhere_in_the_text),
		cmocka_unit_test(an_error_in_a_pattern_has_a_message_and_an_offset),
		cmocka_unit_test(a_truncated_message_ends_in_nul),
		cmocka_unit_test(catastrophic_backtracking_exceeds_a_limit),
		cmocka_unit_test(an_overlong_pattern_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
