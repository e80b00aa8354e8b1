/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/cli/profile_question.h"

#include "tests/support/unit.h"

static void what_was_not_given_is_left_to_the_server(void **state)
{
	static const struct selection_options selection = {
		.event = EVENT_OFF_CPU,
		.range = { .range = { .since_s = 100, .until_s = 200 } },
	};
	struct bytes out = BYTES_INIT(KIB);

	(void)state;
	assert_ok(profile_question_write(&selection, PROFILE_NODES, 0, &out));
	assert_bytes_equal_text(&out, "{\"profile_event_type\":\"off-cpu\","
				      "\"profile_language_type\":\"eBPF\",\"function_starts\":true,"
				      "\"time_start\":100,"
				      "\"time_end\":200,\"format\":\"nodes\"}");
	bytes_release(&out);
}

static void what_was_given_is_asked_for(void **state)
{
	static const struct selection_options selection = {
		.service = "a\"b",
		.event = EVENT_ON_CPU,
		.filter = "host = 'x'",
		.fold_threads = true,
		.no_inlines = true,
		.range = { .range = { .since_s = 100, .until_s = 200 } },
	};
	struct bytes out = BYTES_INIT(KIB);

	(void)state;
	assert_ok(profile_question_write(&selection, PROFILE_COLUMNS, 500, &out));
	assert_bytes_equal_text(&out,
				"{\"app_service\":\"a\\\"b\",\"profile_event_type\":\"on-cpu\","
				"\"profile_language_type\":\"eBPF\",\"function_starts\":true,"
				"\"time_start\":100,\"time_end\":200,\"tag_filter\":\"host = 'x'\","
				"\"fold_threads\":true,\"inlines\":false,\"max_nodes\":500,\"debug\":true,"
				"\"format\":\"columns\"}");
	bytes_release(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_not_given_is_left_to_the_server),
		cmocka_unit_test(what_was_given_is_asked_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
