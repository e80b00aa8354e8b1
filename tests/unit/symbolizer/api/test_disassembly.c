/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/symbolizer/api/api_fixture.h"

static void addresses_without_code_have_values(void **state)
{
	static const struct http_field parameters[] = {
		{ "service", "shares" }, { "function", "[/opt/shares]" }, FIXTURE_RANGE, {}
	};
	scoped(http_response_release) struct http_response response;
	scoped(json_decrefp) json_t *json = NULL;
	const json_t *file, *rows;

	ask_handler(*state, api_disassembly, parameters, NULL, &response);
	assert_int_equal(response.status, 200);
	assert_string_equal(http_response_find_header(&response, "X-Hearth-Total"), "30303");
	json = json_of(&response);
	assert_int_equal(json_number_at(json, "total_value"), 30303);
	assert_int_equal(json_number_at(json, "self_value"), 10101);
	assert_int_equal(json_array_size(json_object_get(json, "files")), 1);
	file = json_array_get(json_object_get(json, "files"), 0);
	assert_string_equal(json_text_at(file, "code"), "no_symbols");
	assert_non_null(strstr(json_text_at(file, "message"), "hearth why"));
	rows = json_object_get(file, "instructions");
	assert_int_equal(json_array_size(rows), 2);
	assert_string_equal(json_text_at(json_array_get(rows, 0), "address"), "0x1000");
	assert_int_equal(json_number_at(json_array_get(rows, 0), "self_value"), 0);
	assert_int_equal(json_number_at(json_array_get(rows, 0), "total_value"), 20202);
	assert_string_equal(json_text_at(json_array_get(rows, 1), "address"), "0x2000");
	assert_int_equal(json_number_at(json_array_get(rows, 1), "self_value"), 10101);
}

static void errors_name_the_parameter(void **state)
{
	static const struct {
		struct http_field parameters[6];
		unsigned int status;
		const char *message;
	} cases[] = {
		{ { { "service", "shares" }, FIXTURE_RANGE }, 400, "function is missing" },
		{ { { "service", "shares" }, { "function", "" }, FIXTURE_RANGE },
		  400,
		  "function is missing" },
		{ { { "service", "shares" }, { "function", "a" }, { "syntax", "masm" } },
		  400,
		  "syntax: 'masm'" },
		{ { { "service", "shares" }, { "function", "a" }, { "last", "soon" } },
		  400,
		  "last: 'soon'" },
		{ { { "service", "shares" }, { "function", "nothing" }, FIXTURE_RANGE },
		  404,
		  "no stack of the selection has 'nothing'" },
		{ { { "service", "shares" }, { "function", "do_syscall" }, FIXTURE_RANGE },
		  404,
		  "no machine code" },
		{ { { "service", "nobody" }, { "function", "do_syscall" }, FIXTURE_RANGE },
		  404,
		  "nobody" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		scoped(http_response_release) struct http_response response;

		ask_handler(*state, api_disassembly, cases[i].parameters, NULL, &response);
		assert_error(&response, cases[i].status, cases[i].message);
	}
}

static void a_full_memory_budget_is_503_and_a_store_error_is_500(void **state)
{
	static const struct http_field parameters[] = {
		{ "service", "shares" }, { "function", "do_syscall" }, FIXTURE_RANGE, {}
	};
	struct memory_budget budget = { .limit_bytes = 1 };
	struct api_fixture *fixture = *state;
	scoped(http_response_release) struct http_response full;
	scoped(http_response_release) struct http_response failed;

	fixture->context.memory = &budget;
	ask_handler(fixture, api_disassembly, parameters, NULL, &full);
	assert_error(&full, 503, "memory_limit");
	fixture->context.memory = NULL;
	fixture->store.error = -EIO;
	ask_handler(fixture, api_disassembly, parameters, NULL, &failed);
	assert_error(&failed, 500, "the sample store failed");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		API_TEST(addresses_without_code_have_values),
		API_TEST(errors_name_the_parameter),
		API_TEST(a_full_memory_budget_is_503_and_a_store_error_is_500),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
