/* SPDX-License-Identifier: Apache-2.0 */
#include "deploy/manual/roff.h"

#include "common/scoped.h"
#include "tests/support/unit.h"

static void expect_paragraph(const char *text, const char *expected)
{
	scoped(bytes_release) struct bytes out = BYTES_INIT(64 * KIB);

	roff_paragraph(&out, text, strlen(text));
	assert_int_equal(bytes_append_byte(&out, '\0'), 0);
	assert_string_equal((const char *)out.data, expected);
}

static void text_cannot_become_a_command(void **state)
{
	(void)state;
	expect_paragraph(".so /etc/passwd", "\\&.so /etc/passwd\n");
	expect_paragraph("'so x", "\\(aqso x\n");
	expect_paragraph("a \\fB b", "a \\efB b\n");
}

static void a_dash_is_not_printed_as_a_hyphen(void **state)
{
	(void)state;
	expect_paragraph("see --help", "see \\-\\-help\n");
}

static void a_sentence_starts_a_line_and_an_abbreviation_does_not(void **state)
{
	(void)state;
	expect_paragraph("One. Two", "One.\nTwo\n");
	expect_paragraph("tags, e.g. this", "tags, e.g. this\n");
}

static void a_line_break_does_not_create_a_command(void **state)
{
	(void)state;
	/* 25 words of two bytes fill the line. */
#define FIVE "aa aa aa aa aa"
	expect_paragraph(FIVE " " FIVE " " FIVE " " FIVE " " FIVE " .b",
			 FIVE " " FIVE " " FIVE " " FIVE " " FIVE "\n\\&.b\n");
#undef FIVE
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(text_cannot_become_a_command),
		cmocka_unit_test(a_dash_is_not_printed_as_a_hyphen),
		cmocka_unit_test(a_sentence_starts_a_line_and_an_abbreviation_does_not),
		cmocka_unit_test(a_line_break_does_not_create_a_command),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
