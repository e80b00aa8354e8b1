/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/symbolizer/api/api_fixture.h"

static void addresses_without_debuginfo_say_so(void **state)
{
	scoped(http_response_release) struct http_response response;
	scoped(json_decrefp) json_t *json = NULL;
	const json_t *frames;

	ask_handler(*state, api_symbolize, NULL,
		    "{\"build_id\":\"0123456789abcdef\",\"addresses\":[\"0x1139\","
		    "\"ffffffffffffffff\",255,0]}",
		    &response);
	json = json_of(&response);
	assert_int_equal(response.status, 200);
	frames = json_object_get(json, "frames");
	assert_int_equal(json_array_size(frames), 4);
	assert_string_equal(json_text_at(json_array_get(frames, 0), "address"), "0x1139");
	assert_string_equal(json_text_at(json_array_get(frames, 1), "address"),
			    "0xffffffffffffffff");
	assert_string_equal(json_text_at(json_array_get(frames, 2), "address"), "0xff");
	assert_string_equal(json_text_at(json_array_get(frames, 0), "status"),
			    resolve_status_name(RESOLVE_NO_DEBUGINFO));
	assert_true(json_is_null(json_object_get(json_array_get(frames, 0), "function")));
}

static void wrong_requests_are_named(void **state)
{
	static const struct {
		const char *body;
		const char *message;
	} cases[] = {
		{ "", "the body is no JSON object" },
		{ "x", "the body is no JSON object" },
		{ "[]", "the body is no JSON object" },
		{ "{}", "build_id: " },
		{ "{\"build_id\":7,\"addresses\":[1]}", "build_id: " },
		{ "{\"build_id\":\"../../x\",\"addresses\":[1]}", "build_id: " },
		{ "{\"build_id\":\"01234567\"}",
		  "addresses: a list of 1 to 100000 addresses is expected" },
		{ "{\"build_id\":\"01234567\",\"addresses\":[]}", "addresses: a list" },
		{ "{\"build_id\":\"01234567\",\"addresses\":{\"0\":1}}", "addresses: a list" },
		{ "{\"build_id\":\"01234567\",\"addresses\":[1,\"0xg\"]}", "addresses[1]: " },
		{ "{\"build_id\":\"01234567\",\"addresses\":[\"-1\"]}", "addresses[0]: " },
		{ "{\"build_id\":\"01234567\",\"addresses\":[\" 1\"]}", "addresses[0]: " },
		{ "{\"build_id\":\"01234567\",\"addresses\":[\"\"]}", "addresses[0]: " },
		{ "{\"build_id\":\"01234567\",\"addresses\":[-1]}", "addresses[0]: " },
		{ "{\"build_id\":\"01234567\",\"addresses\":[1.5]}", "addresses[0]: " },
		{ "{\"build_id\":\"01234567\",\"addresses\":[\"0x10000000000000000\"]}",
		  "addresses[0]: " },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		scoped(http_response_release) struct http_response response;

		ask_handler(*state, api_symbolize, NULL, cases[i].body, &response);
		assert_error(&response, 400, cases[i].message);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		API_TEST(addresses_without_debuginfo_say_so),
		API_TEST(wrong_requests_are_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
