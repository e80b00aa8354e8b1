/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/query/filter/filter.h"

#include "symbolizer/query/filter/filter_internal.h"
#include "tests/support/unit.h"

/* The series with which all filters of this file are matched. */
static const struct tag_row {
	const char *name;
	const char *values[3];
	size_t n_values;
} row[] = {
	{ "pod", { "web-1" }, 1 },
	{ "pod_ns", { "Prod" }, 1 },
	{ "cpu", { "9" }, 1 },
	{ "weight", { "1.50" }, 1 },
	{ "version", { "0123" }, 1 },
	{ "ip", { "10.1.2.3", "fe80::1" }, 2 },
	{ "text", { "it's 100%_\\" }, 1 },
	{ "k8s.label.app", { "shop" }, 1 },
	{ "name with blanks", { "x" }, 1 },
	{ "and", { "keyword" }, 1 },
	{ "empty", { "" }, 1 },
	{ "umlaut", { "gr\xc3\xbc\xc3\x9f" }, 1 },
	{ "absent", {}, 0 },
	{ "host_ip", {}, 0 },
	{ "exist", { "1" }, 1 },
	{ "enum", { "1" }, 1 },
	{ "explosive", { "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab" }, 1 },
};

static const struct tag_row *find_row(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(row); i++) {
		if (strcmp(row[i].name, name) == 0)
			return &row[i];
	}
	return NULL;
}

static bool is_known(void *arg, const char *name)
{
	(void)arg;
	return find_row(name) != NULL;
}

static size_t look_up(void *arg, const char *name, const char *const **ret_values)
{
	const struct tag_row *found = find_row(name);

	(void)arg;
	assert_non_null(found);
	*ret_values = found->values;
	return found->n_values;
}

static int matches(const char *text)
{
	scoped(filter_freep) struct filter *filter = NULL;
	struct filter_error error;
	int r;

	r = filter_parse(text, is_known, NULL, &filter, &error);
	if (r < 0)
		fail_msg("%s: %s at %zu", text, error.message, error.offset);
	return filter_matches(filter, look_up, NULL);
}

static void filters_select_matching_series(void **state)
{
	static const struct {
		const char *text;
		int selected;
	} cases[] = {
		{ "", 1 },
		{ " \t\r\n ", 1 },

		/* equality; text compares as text, a number as a number */
		{ "pod = 'web-1'", 1 },
		{ "pod='web-1'", 1 },
		{ "pod = \"web-1\"", 1 },
		{ "`pod` = 'web-1'", 1 },
		{ "pod = 'WEB-1'", 0 },
		{ "pod != 'web-1'", 0 },
		{ "pod != 'web-2'", 1 },
		{ "pod <> 'web-2'", 1 },
		{ "cpu = 9", 1 },
		{ "cpu = 9.0", 1 },
		{ "cpu = '9'", 1 },
		{ "cpu = '9.0'", 0 },
		{ "version = 123", 1 },
		{ "version = '123'", 0 },
		{ "empty = ''", 1 },
		{ "empty != 'x'", 1 },
		{ "cpu = -9", 0 },
		{ "pod = 5", 0 },

		/* order: by value when both sides are numbers, else by bytes */
		{ "cpu < 10", 1 },
		{ "cpu < '10'", 1 },
		{ "cpu > 8.5", 1 },
		{ "cpu >= 9", 1 },
		{ "cpu <= 9", 1 },
		{ "cpu > 9", 0 },
		{ "weight > 1.4", 1 },
		{ "weight < 1e1", 1 },
		{ "pod > 'web'", 1 },
		{ "pod < 'web'", 0 },
		{ "pod < 5", 0 },

		/* lists */
		{ "pod IN ('a', 'web-1')", 1 },
		{ "pod in ('a')", 0 },
		{ "pod NOT IN ('a', 'b')", 1 },
		{ "pod NOT IN ('web-1')", 0 },
		{ "cpu IN (1, 9)", 1 },
		{ "cpu IN (1, '9')", 1 },

		/* LIKE: any case, the whole text */
		{ "pod LIKE 'WEB-_'", 1 },
		{ "pod LIKE 'web%'", 1 },
		{ "pod LIKE 'web*'", 1 },
		{ "pod LIKE '*b-*'", 1 },
		{ "pod LIKE 'web'", 0 },
		{ "pod LIKE '%'", 1 },
		{ "pod LIKE ''", 0 },
		{ "empty LIKE ''", 1 },
		{ "empty LIKE '*'", 1 },
		{ "empty LIKE '_'", 0 },
		{ "pod NOT LIKE 'web%'", 0 },
		{ "pod NOT LIKE 'db%'", 1 },
		{ "text LIKE 'it''s 100\\%\\__'", 1 },
		{ "text LIKE \"%100\\%%\"", 1 },
		{ "umlaut LIKE 'gr__'", 1 },
		{ "umlaut LIKE 'gr_'", 0 },
		{ "pod LIKE('web*')", 1 },
		{ "pod NOT LIKE ( 'web*' ) AND cpu = 9", 0 },
		{ "pod LIKE '%%%%%%%%%%%%%%%%%%%%%%%%x'", 0 },

		/* REGEXP: any part of the text, case-sensitive */
		{ "pod REGEXP 'eb'", 1 },
		{ "pod REGEXP '^web-[0-9]$'", 1 },
		{ "pod REGEXP '^web-\\d$'", 1 },
		{ "pod REGEXP '^web-\\\\d$'", 1 },
		{ "pod REGEXP 'WEB'", 0 },
		{ "pod REGEXP '(?i)WEB'", 1 },
		{ "pod NOT REGEXP '^db'", 1 },

		/* addresses */
		{ "ip = '10.0.0.0/8'", 1 },
		{ "ip = '10.1.2.3'", 1 },
		{ "ip = '10.1.2.4'", 0 },
		{ "ip = 'fe80::/10'", 1 },
		{ "ip != '10.0.0.0/8'", 0 },
		{ "ip != '11.0.0.0/8'", 1 },
		{ "ip IN ('11.0.0.0/8', 'fe80::1')", 1 },
		{ "ip NOT IN ('11.0.0.0/8', '10.1.2.0/24')", 0 },
		{ "ip > '10.1.2.2'", 1 },
		{ "ip LIKE '10.%'", 1 },
		{ "ip REGEXP '^fe80:'", 1 },

		/* NULL */
		{ "absent IS NULL", 1 },
		{ "absent IS NOT NULL", 0 },
		{ "pod IS NULL", 0 },
		{ "pod IS NOT NULL", 1 },
		{ "empty IS NULL", 0 },
		{ "absent = 'x'", 0 },
		{ "absent = ''", 0 },
		{ "absent < 'x'", 0 },
		{ "absent > 'x'", 0 },
		{ "absent IN ('x')", 0 },
		{ "absent LIKE '%'", 0 },
		{ "absent REGEXP ''", 0 },
		{ "absent != 'x'", 1 },
		{ "absent NOT IN ('x')", 1 },
		{ "absent NOT LIKE '%'", 1 },
		{ "absent NOT REGEXP ''", 1 },
		{ "NOT absent = 'x'", 1 },
		{ "host_ip = '10.0.0.0/8'", 0 },
		{ "host_ip != '10.0.0.0/8'", 1 },
		{ "exist(pod)", 1 },
		{ "EXIST ( absent )", 0 },
		{ "exist(`k8s.label.app`)", 1 },
		{ "exist = 1", 1 },
		{ "Enum(pod) = 'web-1'", 1 },
		{ "enum ( `pod` ) != 'web-1'", 0 },
		{ "NOT Enum(cpu) IN (8, 10)", 1 },
		{ "Enum(absent) IS NULL", 1 },
		{ "Enum(host_ip) = '10.0.0.0/8'", 0 },
		{ "enum = 1", 1 },

		/* AND before OR, NOT before AND */
		{ "pod = 'web-1' AND cpu = 9", 1 },
		{ "pod = 'web-1' AND cpu = 8", 0 },
		{ "pod = 'x' OR cpu = 9", 1 },
		{ "pod = 'x' AND cpu = 8 OR cpu = 9", 1 },
		{ "cpu = 9 OR pod = 'x' AND cpu = 8", 1 },
		{ "(cpu = 9 OR pod = 'x') AND cpu = 8", 0 },
		{ "NOT pod = 'x' AND cpu = 8", 0 },
		{ "NOT (pod = 'x' AND cpu = 8)", 1 },
		{ "NOT NOT pod = 'web-1'", 1 },
		{ "not pod = 'web-1' or not cpu = 8", 1 },
		{ "pod = 'x' OR pod = 'y' OR pod = 'web-1' OR pod = 'z'", 1 },
		{ "((((pod = 'web-1'))))", 1 },

		/* names and texts */
		{ "k8s.label.app = 'shop'", 1 },
		{ "`k8s.label.app`='shop'", 1 },
		{ "`name with blanks` = 'x'", 1 },
		{ "`and` = 'keyword'", 1 },
		{ "text = 'it''s 100%_\\\\'", 1 },
		{ "text = \"it's 100%_\\\\\"", 1 },
		{ "text = 'it\\'s 100%_\\\\'", 1 },
		{ "pod_ns='Prod'AND pod='web-1'", 1 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		int r = matches(cases[i].text);

		if (r != cases[i].selected)
			fail_msg("%s gives %d", cases[i].text, r);
	}
}

static void errors_point_at_the_offending_character(void **state)
{
	static const struct {
		const char *text;
		size_t offset;
		const char *message;
	} cases[] = {
		{ "pod ! 'a'", 4, "unexpected '!'" },
		{ "pod = ", 6, "expected a text in quotes or a number, but the filter ends here" },
		{ "(pod = 'a'", 10, "expected AND, OR or ')', but the filter ends here" },
		{ "pod = 'a' cpu = 1", 10, "expected AND, OR or the end, not 'cpu'" },
		{ "pod = 'a')", 9, "expected AND, OR or the end, not ')'" },
		{ "pod", 3,
		  "expected =, !=, <, <=, >, >=, IN, LIKE, REGEXP, IS or NOT, but the filter ends "
		  "here" },
		{ "pod is 5", 7, "expected NULL or NOT NULL, not '5'" },
		{ "pod is not 'x'", 11, "expected NULL, not ''x''" },
		{ "pod not = 'x'", 8, "expected IN, LIKE or REGEXP, not '='" },
		{ "pod = name", 6, "expected a text in quotes or a number, not 'name'" },
		{ "pod = 'a", 6, "no closing '" },
		{ "pod = \"a'", 6, "no closing \"" },
		{ "`pod = 'a'", 0, "no closing `" },
		{ "`` = 'a'", 0, "an empty name" },
		{ "pod IN 'a'", 7, "expected '(' and a list, not ''a''" },
		{ "pod IN ()", 8, "expected a text in quotes or a number, not ')'" },
		{ "pod IN ('a' 'b')", 12, "expected ',' or ')', not ''b''" },
		{ "pod IN ('a',", 12,
		  "expected a text in quotes or a number, but the filter ends here" },
		{ "pod LIKE 5", 9, "expected a pattern in quotes, not '5'" },
		{ "pod REGEXP 5", 11, "expected a regular expression in quotes, not '5'" },
		{ "and = 'a'", 0, "expected the name of a tag, not 'and'" },
		{ "pod = 'a' AND", 13, "expected the name of a tag, but the filter ends here" },
		{ "AND pod = 'a'", 0, "expected the name of a tag, not 'AND'" },
		{ "NOT", 3, "expected the name of a tag, but the filter ends here" },
		{ "= 'a'", 0, "expected the name of a tag, not '='" },
		{ "cpu = 10.0.0.1", 6, "'10.0.0.1' is not a number: put text in quotes" },
		{ "cpu = 1x", 6, "'1x' is not a number: put text in quotes" },
		{ "ip = 'host'", 5, "'host' is neither an IP address nor a CIDR range" },
		{ "ip = '10.0.0.0/33'", 5,
		  "'10.0.0.0/33' is neither an IP address nor a CIDR range" },
		{ "ip IN ('10.0.0.1', 'x')", 19, "'x' is neither an IP address nor a CIDR range" },
		{ "pod = 'a' AND nope = 'b'", 14, "unknown tag 'nope'" },
		{ "exist(nope)", 6, "unknown tag 'nope'" },
		{ "Enum(nope) = 1", 5, "unknown tag 'nope'" },
		{ "Enum() = 1", 5, "expected the name of a tag, not ')'" },
		{ "Enum(pod = 1", 9, "expected ')', not '='" },
		{ "exist(pod", 9, "expected ')', but the filter ends here" },
		{ "pod = 'a' && cpu = 1", 10, "unexpected '&'" },
		{ "pod = 'a'; DROP", 9, "unexpected ';'" },
		{ "pod = 'a' \xc3\xa9", 10, "unexpected byte 0xc3" },
		{ "pod = 'a' \x01", 10, "unexpected byte 0x01" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct filter_error error;
		struct filter *filter = NULL;

		assert_errno(filter_parse(cases[i].text, is_known, NULL, &filter, &error), -EINVAL);
		assert_null(filter);
		assert_string_equal(error.message, cases[i].message);
		if (error.offset != cases[i].offset)
			fail_msg("%s: %s at %zu, not %zu", cases[i].text, error.message,
				 error.offset, cases[i].offset);
		assert_int_equal(error.unknown_tag, strncmp(error.message, "unknown tag", 11) == 0);
	}
}

static void the_error_of_a_regular_expression_points_into_its_quotes(void **state)
{
	struct filter_error error;
	struct filter *filter = NULL;

	(void)state;
	assert_errno(filter_parse("pod REGEXP 'a(b'", is_known, NULL, &filter, &error), -EINVAL);
	assert_in_range(error.offset, 12, 15);
	assert_memory_equal(error.message, "regular expression: ", 20);
}

/* Repeats @unit between head and tail. */
static char *repeated(const char *head, const char *unit, size_t count, const char *tail)
{
	struct bytes text = BYTES_INIT(MIB);

	assert_ok(bytes_append_text(&text, head));
	for (size_t i = 0; i < count; i++)
		assert_ok(bytes_append_text(&text, unit));
	assert_ok(bytes_append_text(&text, tail));
	assert_ok(bytes_append_byte(&text, 0));
	return (char *)text.data;
}

static void depth_length_and_patterns_are_limited(void **state)
{
	static const struct {
		const char *head, *unit, *tail;
		size_t count;
		bool accepted;
	} cases[] = {
		{ "", "NOT ", "cpu = 9", FILTER_MAX_DEPTH - 1, true },
		{ "", "NOT ", "cpu = 9", FILTER_MAX_DEPTH, false },
		{ "", "(", "cpu = 9", FILTER_MAX_DEPTH, false },
		{ "", "(", "", 60000, false },
		{ "cpu = 9", " OR cpu = 8", "", 5000, true },
		{ "cpu = 9", " AND cpu = 9", "", 5000, true },
		{ "cpu = 9", " AND cpu = 9", "", 6000, false }, /* longer than FILTER_MAX_BYTES */
		{ "cpu IN (9", ",1", ")", 30000, true },
		{ "pod REGEXP 'w'", " AND pod REGEXP 'w'", "", FILTER_MAX_PATTERNS - 1, true },
		{ "pod REGEXP 'w'", " AND pod REGEXP 'w'", "", FILTER_MAX_PATTERNS, false },
		{ "pod = '", "''", "'", 30000, true },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		scoped_free char *text =
			repeated(cases[i].head, cases[i].unit, cases[i].count, cases[i].tail);
		scoped(filter_freep) struct filter *filter = NULL;
		struct filter_error error;
		int r = filter_parse(text, is_known, NULL, &filter, &error);

		if ((r == 0) != cases[i].accepted || (r < 0 && r != -EINVAL))
			fail_msg("case %zu gives %d", i, r);
	}
}

static void a_regular_expression_with_too_many_steps_is_stopped(void **state)
{
	(void)state;
	assert_errno(matches("explosive REGEXP '^(a+)+$'"), -E2BIG);
	assert_errno(matches("NOT explosive REGEXP '^(a+)+$'"), -E2BIG);
	assert_errno(matches("cpu = 9 AND explosive REGEXP '^(a+)+$'"), -E2BIG);
	/* OR does not evaluate its second operand if the first is true. */
	assert_int_equal(matches("cpu = 9 OR explosive REGEXP '^(a+)+$'"), 1);
}

static void only_decimal_numbers_are_numbers(void **state)
{
	static const struct {
		const char *text;
		bool is_number;
	} cases[] = {
		{ "0", true },
		{ "-1", true },
		{ "1.5", true },
		{ "1e3", true },
		{ "1E-3", true },
		{ "", false },
		{ "-", false },
		{ "1.", false },
		{ ".5", false },
		{ "1e", false },
		{ "0x10", false },
		{ "inf", false },
		{ "nan", false },
		{ " 1", false },
		{ "1 ", false },
		{ "+1", false },
		{ "--1", false },
		{ "1e+", false },
		{ "9223372036854775807", true },
	};
	long double number, a, b;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_int_equal(filter_number(cases[i].text, &number), cases[i].is_number);
	assert_true(filter_number("9223372036854775807", &a));
	assert_true(filter_number("9223372036854775806", &b));
	assert_true(a > b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(filters_select_matching_series),
		cmocka_unit_test(errors_point_at_the_offending_character),
		cmocka_unit_test(the_error_of_a_regular_expression_points_into_its_quotes),
		cmocka_unit_test(depth_length_and_patterns_are_limited),
		cmocka_unit_test(a_regular_expression_with_too_many_steps_is_stopped),
		cmocka_unit_test(only_decimal_numbers_are_numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
