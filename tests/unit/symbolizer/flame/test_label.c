/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/flame/label.h"

#include "tests/support/unit.h"

#define BAD "\xef\xbf\xbd"

static void a_label_has_no_separators_and_no_invalid_characters(void **state)
{
	static const struct {
		const char *text, *label;
	} cases[] = {
		{ "main", "main" },
		{ "", "" },
		{ "a;b", "a:b" },
		{ ";;", "::" },
		{ "line\nbreak\ttab\x7f", "line" BAD "break" BAD "tab" BAD },
		{ "gr\xc3\xbc\xc3\x9f", "gr\xc3\xbc\xc3\x9f" }, /* two bytes each */
		{ "\xe2\x82\xac \xf0\x9f\x94\xa5",
		  "\xe2\x82\xac \xf0\x9f\x94\xa5" },     /* three and four */
		{ "\xff\xfe", BAD BAD },                 /* never in UTF-8 */
		{ "\xc0\xaf", BAD BAD },                 /* overlong '/' */
		{ "\xe0\x80\xaf", BAD BAD BAD },         /* overlong */
		{ "\xed\xa0\x80", BAD BAD BAD },         /* a surrogate */
		{ "\xf4\x90\x80\x80", BAD BAD BAD BAD }, /* above U+10FFFF */
		{ "\xc2\x85", BAD BAD },                 /* a C1 control */
		{ "cut \xe2\x82", "cut " BAD BAD },      /* ends within a character */
		{ "\x80 alone", BAD " alone" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		scoped(bytes_release) struct bytes out = BYTES_INIT(KIB);
		bool clean = strcmp(cases[i].text, cases[i].label) == 0;

		assert_int_equal(label_is_clean(cases[i].text, strlen(cases[i].text)), clean);
		assert_ok(label_append(&out, cases[i].text, strlen(cases[i].text)));
		assert_bytes_equal_text(&out, cases[i].label);
		assert_true(label_is_clean((const char *)out.data, out.size));
	}
}

static void a_nul_within_a_label_is_replaced(void **state)
{
	scoped(bytes_release) struct bytes out = BYTES_INIT(KIB);

	(void)state;
	assert_ok(label_append(&out, "a\0b", 3));
	assert_bytes_equal_text(&out, "a" BAD "b");
}

static void a_long_label_is_cut_between_characters(void **state)
{
	char text[LABEL_MAX_BYTES + 3];

	(void)state;
	for (size_t shift = 0; shift < 3; shift++) {
		scoped(bytes_release) struct bytes out = BYTES_INIT(2 * LABEL_MAX_BYTES);

		memset(text, 'x', sizeof(text));
		for (size_t i = shift; i + 3 <= sizeof(text); i += 3)
			memcpy(text + i, "\xe2\x82\xac", 3);
		assert_ok(label_append(&out, text, sizeof(text)));
		assert_in_range(out.size, LABEL_MAX_BYTES - 5, LABEL_MAX_BYTES);
		assert_memory_equal(out.data + out.size - 3, "\xe2\x80\xa6", 3);
		assert_true(label_is_clean((const char *)out.data, out.size));
	}
}

static void a_label_of_the_maximum_length_is_not_cut(void **state)
{
	scoped(bytes_release) struct bytes out = BYTES_INIT(2 * LABEL_MAX_BYTES);
	char text[LABEL_MAX_BYTES];

	(void)state;
	memset(text, 'x', sizeof(text));
	assert_ok(label_append(&out, text, sizeof(text)));
	assert_int_equal(out.size, sizeof(text));
}

static void the_prefix_determines_the_type(void **state)
{
	static const struct {
		const char *label;
		char type;
	} cases[] = {
		{ "[p] nginx", 'P' },
		{ "[g] version=1", 'P' },
		{ "[t] worker", 'T' },
		{ "[k] do_syscall_64", 'K' },
		{ "[k] [nf_tables]", 'K' },
		{ "[l] memcpy", 'L' },
		{ "[c] gemm", 'C' },
		{ "[/usr/bin/nginx]", '?' },
		{ "[unknown] 0x0000000000001234", '?' },
		{ "[unknown start_thread?]", '?' },
		{ "[truncated: depth]", '?' },
		{ "[k]", '?' },
		{ "main", 'A' },
		{ "operator[]", 'A' },
		{ "", 'A' },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_int_equal(label_type(cases[i].label), cases[i].type);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_label_has_no_separators_and_no_invalid_characters),
		cmocka_unit_test(a_nul_within_a_label_is_replaced),
		cmocka_unit_test(a_long_label_is_cut_between_characters),
		cmocka_unit_test(a_label_of_the_maximum_length_is_not_cut),
		cmocka_unit_test(the_prefix_determines_the_type),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
