/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/cli/client/server_message.h"

#include "tests/support/unit.h"

static void keys_of_the_api_become_options_of_the_command(void **state)
{
	static const char *const cases[][2] = {
		{ "no service 'x'; known services: a, b", "no service 'x'; known services: a, b" },
		{ "tag_filter: unexpected end at character 7",
		  "--filter: unexpected end at character 7" },
		{ "a tag_filter or a tag_filter", "a --filter or a --filter" },
		{ "group_by: unknown tag 'hots'", "--by: unknown tag 'hots'" },
		{ "app_service count 121 is invalid",
		  "the filter leaves 121 services, and one answer holds at most 10: name one "
		  "('hearth services' lists them) or narrow the filter" },
		{ "app_service count many is invalid", "app_service count many is invalid" },
		{ "a\033b", "a?b" },
		{ "", "" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct bytes out = BYTES_INIT(4 * KIB);

		server_message_append(&out, cases[i][0]);
		assert_bytes_equal_text(&out, cases[i][1]);
		bytes_release(&out);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keys_of_the_api_become_options_of_the_command),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
