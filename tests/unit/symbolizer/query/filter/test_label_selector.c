/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/query/filter/label_selector.h"

#include <string.h>

#include "tests/support/unit.h"

/* The series of the tests: app_service nginx, host web-1, no label pod. */
static size_t look_up(void *arg, const char *name, const char *const **ret_values)
{
	static const char *const nginx = "nginx", *const web = "web-1", *const dotted = "v";

	(void)arg;
	if (strcmp(name, "app_service") == 0)
		*ret_values = &nginx;
	else if (strcmp(name, "host") == 0)
		*ret_values = &web;
	else if (strcmp(name, "k8s.label.a b") == 0)
		*ret_values = &dotted;
	else
		return 0;
	return 1;
}

static bool selects(const char *text)
{
	scoped(label_selector_release) struct label_selector selector = {};
	struct filter_error error;
	char *texts[] = { (char *)text };

	if (label_selector_parse(texts, 1, &selector, &error) < 0)
		fail_msg("%s: %s at %zu", text, error.message, error.offset);
	return filter_matches(selector.filter, look_up, NULL) == 1;
}

static void selectors_select_matching_series(void **state)
{
	static const struct {
		const char *text;
		bool selects;
	} cases[] = {
		{ "", true },
		{ " {} ", true },
		{ "{service_name=\"nginx\"}", true },
		{ "{service_name=\"ngin\"}", false },
		{ "{service_name='nginx', host=`web-1`,}", true },
		{ "{service_name=\"nginx\",host=\"web-2\"}", false },
		{ "{host!=\"web-2\"}", true },
		{ "{host!=\"web-1\"}", false },
		{ "{host=~\"web-.*\"}", true },
		{ "{host=~\"web\"}", false },
		{ "{host=~\"db|web-1\"}", true },
		{ "{host!~\"db|web-1\"}", false },
		{ "{host!~\"eb-1\"}", true },
		{ "{pod=\"\"}", true },
		{ "{pod!=\"\"}", false },
		{ "{pod!=\"a\"}", true },
		{ "{pod=~\".*\"}", true },
		{ "{pod=~\".+\"}", false },
		{ "{pod!~\".+\"}", true },
		{ "{host=\"\"}", false },
		{ "{\"k8s.label.a b\"=\"v\"}", true },
		{ "{__profile_type__=\"a:b:c:d:e\"}", true },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		if (selects(cases[i].text) != cases[i].selects)
			fail_msg("%s", cases[i].text);
	}
}

static void a_selector_names_its_service_and_profile_type(void **state)
{
	scoped(label_selector_release) struct label_selector selector = {}, two = {};
	char *texts[] = { "{__profile_type__=\"a:b:c:d:e\",service_name=\"n\\\"x\"}",
			  "{host=\"b\"}" };
	struct filter_error error;

	(void)state;
	assert_ok(label_selector_parse(texts, 1, &selector, &error));
	assert_string_equal(selector.service, "n\"x");
	assert_string_equal(selector.profile_type, "a:b:c:d:e");
	texts[0] = "{service_name=\"a\"}";
	assert_ok(label_selector_parse(texts, 2, &two, &error));
	assert_null(two.service);
}

static void one_of_several_selectors_is_enough(void **state)
{
	scoped(label_selector_release) struct label_selector any = {}, none = {};
	char *first[] = { "{host=\"b\"}", "{host=\"web-1\"}" };
	char *second[] = { "{host=\"b\"}", "{host=\"c\"}" };
	struct filter_error error;

	(void)state;
	assert_ok(label_selector_parse(first, 2, &any, &error));
	assert_int_equal(filter_matches(any.filter, look_up, NULL), 1);
	assert_ok(label_selector_parse(second, 2, &none, &error));
	assert_int_equal(filter_matches(none.filter, look_up, NULL), 0);
}

static void errors_point_at_the_offending_character(void **state)
{
	static const struct {
		const char *text;
		size_t offset;
		const char *part;
	} cases[] = {
		{ "host=\"a\"", 0, "expected '{'" },
		{ "{host", 5, "selector ends here" },
		{ "{host>\"a\"}", 5, "expected =, !=, =~ or !~" },
		{ "{host=a}", 6, "a text in quotes" },
		{ "{host=\"a}", 6, "no closing quote" },
		{ "{host=\"a\" b}", 10, "',' or '}'" },
		{ "{host=\"\\q\"}", 7, "escape" },
		{ "{host=~\"(\"}", 7, "regular expression" },
		{ "{host=~\"a)|(b\"}", 7, "regular expression" },
		{ "{} {}", 3, "the end" },
		{ "{__profile_type__=~\"a\"}", 1, "only be compared with =" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct label_selector selector = {};
		struct filter_error error = {};
		char *text = (char *)cases[i].text;

		assert_errno(label_selector_parse(&text, 1, &selector, &error), -EINVAL);
		if (error.offset != cases[i].offset || !strstr(error.message, cases[i].part))
			fail_msg("%s: %s at %zu", text, error.message, error.offset);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(selectors_select_matching_series),
		cmocka_unit_test(a_selector_names_its_service_and_profile_type),
		cmocka_unit_test(one_of_several_selectors_is_enough),
		cmocka_unit_test(errors_point_at_the_offending_character),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
