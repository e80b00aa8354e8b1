/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/symbolizer/api/api_fixture.h"

#define RANGE                                                                                      \
	{ "since", "1700000000" },                                                                 \
	{                                                                                          \
		"until", "1700000001"                                                              \
	}

static void the_answer_has_the_lines_of_a_function(void **state)
{
	static const struct http_field parameters[] = {
		{ "service", "shares" }, { "function", "[k] do_syscall" }, RANGE, {}
	};
	static const char expected[] =
		"{\"function\":\"[k] do_syscall\",\"self_value\":20202,\"total_value\":20202,"
		"\"files\":[{\"file\":\"\",\"function\":\"do_syscall\",\"build_id\":\"\",\"lines\":"
		"[{\"line\":0,\"self_value\":20202,\"total_value\":20202}]}],"
		"\"event\":\"on-cpu\",\"unit\":\"microseconds\",\"since\":1700000000,"
		"\"until\":1700000001,";
	scoped(http_response_release) struct http_response response;

	ask_handler(*state, api_source, parameters, NULL, &response);
	assert_int_equal(response.status, 200);
	assert_true(response.body.size > strlen(expected));
	if (memcmp(response.body.data, expected, strlen(expected)) != 0)
		fail_msg("%.*s", (int)response.body.size, (const char *)response.body.data);
	assert_string_equal(http_response_find_header(&response, "X-Hearth-Total"), "30303");
}

static void errors_name_the_parameter(void **state)
{
	static const struct {
		struct http_field parameters[6];
		unsigned int status;
		const char *message;
	} cases[] = {
		{ { { "service", "shares" }, RANGE }, 400, "function is missing" },
		{ { { "service", "shares" }, { "function", "" }, RANGE },
		  400,
		  "function is missing" },
		{ { { "service", "shares" }, { "function", "a" }, { "last", "soon" } },
		  400,
		  "last: 'soon'" },
		{ { { "service", "shares" }, { "function", "nothing" }, RANGE },
		  404,
		  "no stack of the selection has 'nothing'" },
		{ { { "service", "nobody" }, { "function", "do_syscall" }, RANGE }, 404, "nobody" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		scoped(http_response_release) struct http_response response;

		ask_handler(*state, api_source, cases[i].parameters, NULL, &response);
		assert_error(&response, cases[i].status, cases[i].message);
	}
}

static void a_full_memory_budget_is_503_and_a_store_error_is_500(void **state)
{
	static const struct http_field parameters[] = {
		{ "service", "shares" }, { "function", "do_syscall" }, RANGE, {}
	};
	struct memory_budget budget = { .limit_bytes = 1 };
	struct api_fixture *fixture = *state;
	scoped(http_response_release) struct http_response full;
	scoped(http_response_release) struct http_response failed;

	fixture->context.memory = &budget;
	ask_handler(fixture, api_source, parameters, NULL, &full);
	assert_error(&full, 503, "memory_limit");
	fixture->context.memory = NULL;
	fixture->store.error = -EIO;
	ask_handler(fixture, api_source, parameters, NULL, &failed);
	assert_error(&failed, 500, "the sample store failed");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		API_TEST(the_answer_has_the_lines_of_a_function),
		API_TEST(errors_name_the_parameter),
		API_TEST(a_full_memory_budget_is_503_and_a_store_error_is_500),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
