/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/unit.h"

#include "symbolizer/store/clickhouse/server_error.h"

static struct server_error parse(const char *answer)
{
	struct server_error error;

	server_error_parse(
		(struct bytes_view){ .data = (const uint8_t *)answer, .size = strlen(answer) },
		&error);
	return error;
}

static void errors_of_old_and_new_servers_have_a_code_and_a_text(void **state)
{
	static const struct {
		const char *answer, *text;
		unsigned int code;
	} cases[] = {
		{ "Code: 60, e.displayText() = DB::Exception: Table a.b doesn't exist., "
		  "e.what() = DB::Exception\n",
		  "Table a.b doesn't exist.", 60 },
		{ "Code: 60. DB::Exception: Table a.b does not exist. (UNKNOWN_TABLE) "
		  "(version 24.8.4.13)\n",
		  "Table a.b does not exist. (UNKNOWN_TABLE) (version 24.8.4.13)", 60 },
		{ "Code: 62. DB::Exception: line 1\nline 2", "line 1", 62 },
		{ "<html>Bad\tGateway</html>", "<html>Bad?Gateway</html>", 0 },
		{ "", "", 0 },
		{ "Code: ", "Code: ", 0 },
		{ "Code: 99999999999", "Code: 99999999999", 999999 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct server_error error = parse(cases[i].answer);

		assert_int_equal(error.code, cases[i].code);
		assert_string_equal(error.text, cases[i].text);
	}
}

static void a_long_text_is_cut(void **state)
{
	char answer[2 * SERVER_ERROR_TEXT_SIZE];

	(void)state;
	memset(answer, 'x', sizeof(answer));
	answer[sizeof(answer) - 1] = '\0';
	assert_int_equal(strlen(parse(answer).text), SERVER_ERROR_TEXT_SIZE - 1);
}

static void an_unknown_code_is_an_io_error_and_not_temporary(void **state)
{
	(void)state;
	assert_errno(server_error_errno(12345), -EIO);
	assert_false(server_error_is_temporary(12345));
	assert_errno(server_error_errno(243), -ENOSPC);
	assert_true(server_error_is_temporary(202));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(errors_of_old_and_new_servers_have_a_code_and_a_text),
		cmocka_unit_test(a_long_text_is_cut),
		cmocka_unit_test(an_unknown_code_is_an_io_error_and_not_temporary),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
