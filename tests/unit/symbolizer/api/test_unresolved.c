/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/symbolizer/api/api_fixture.h"

/* Returns the answer for @parameters; the Host header of the request is @host. */
static json_t *ask(struct api_fixture *fixture, const struct http_field *parameters,
		   const char *host)
{
	const struct http_field header = { "Host", host };
	struct http_request request = {
		.path = "/v1/unresolved",
		.argument = "",
		.headers = &header,
		.n_headers = 1,
		.parameters = parameters,
		.caller = &fixture->caller,
	};
	scoped(http_response_release) struct http_response response;

	while (parameters[request.n_parameters].name)
		request.n_parameters++;
	http_response_init(&response);
	api_unresolved(&fixture->context, &request, &response);
	assert_int_equal(response.status, 200);
	return json_of(&response);
}

static void a_file_has_its_share_reason_and_command(void **state)
{
	static const struct http_field parameters[] = { { "service", "shares" },
							FIXTURE_RANGE,
							{} };
	scoped(json_decrefp) json_t *json = ask(*state, parameters, "profiler.example.com:20416");
	const json_t *files = json_object_get(json, "files");
	const json_t *file = json_array_get(files, 0);

	assert_string_equal(json_text_at(json, "event"), "on-cpu");
	assert_string_equal(json_text_at(json, "unit"), "microseconds");
	assert_string_equal(json_text_at(json, "message"), "");
	assert_int_equal(json_number_at(json, "since"), 1700000000);
	assert_int_equal(json_number_at(json, "until"), 1700000001);
	assert_int_equal(json_number_at(json, "total"), 30303);
	assert_int_equal(json_number_at(json, "unresolved"), 10101);
	assert_int_equal(json_number_at(json, "count"), 1);
	assert_int_equal(json_array_size(files), 1);
	assert_string_equal(json_text_at(file, "file"), "/opt/shares");
	assert_string_equal(json_text_at(file, "build_id"), "3031323334353637");
	assert_int_equal(json_number_at(file, "value"), 10101);
	assert_true(json_number_value(json_object_get(file, "share")) > 0.333);
	assert_true(json_number_value(json_object_get(file, "share")) < 0.334);
	assert_string_equal(json_text_at(file, "reason"), "no_debuginfo");
	assert_string_equal(json_text_at(file, "why"), "Nobody uploaded its debuginfo");
	assert_string_equal(json_text_at(file, "remedy"),
			    "Upload the unstripped file of this build");
	assert_string_equal(json_text_at(file, "command"),
			    "hearth upload --server http://profiler.example.com:20416 "
			    "/path/to/unstripped/shares");
	assert_string_equal(json_string_value(json_array_get(json_object_get(file, "services"), 0)),
			    "shares");
}

static void a_command_names_the_server_unless_it_is_the_default(void **state)
{
	static const struct http_field parameters[] = { { "service", "shares" },
							FIXTURE_RANGE,
							{} };
	static const struct {
		const char *host, *command;
	} cases[] = {
		{ "127.0.0.1:20416", "hearth upload /path/to/unstripped/shares" },
		{ "localhost:20416", "hearth upload --server http://localhost:20416 "
				     "/path/to/unstripped/shares" },
		{ "a;reboot", "hearth upload /path/to/unstripped/shares" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		scoped(json_decrefp) json_t *json = ask(*state, parameters, cases[i].host);

		assert_string_equal(
			json_text_at(json_array_get(json_object_get(json, "files"), 0), "command"),
			cases[i].command);
	}
}

static void a_command_omits_a_server_name_that_is_too_long(void **state)
{
	static const struct http_field parameters[] = { { "service", "shares" },
							FIXTURE_RANGE,
							{} };
	scoped(json_decrefp) json_t *json = NULL;
	char host[1024] = "";

	memset(host, 'h', sizeof(host) - 1);
	json = ask(*state, parameters, host);
	assert_string_equal(
		json_text_at(json_array_get(json_object_get(json, "files"), 0), "command"),
		"hearth upload /path/to/unstripped/shares");
}

static void without_a_service_and_with_total_all_services_are_selected(void **state)
{
	static const struct http_field without[] = { FIXTURE_RANGE, {} };
	static const struct http_field total[] = { { "service", "Total" }, FIXTURE_RANGE, {} };
	static const struct http_field *const cases[] = { without, total };

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		scoped(json_decrefp) json_t *json = ask(*state, cases[i], "localhost");

		assert_int_equal(json_number_at(json, "unresolved"), 10101);
		assert_int_equal(json_array_size(json_object_get(json, "files")), 1);
	}
}

static void an_empty_result_is_a_success_with_the_reason(void **state)
{
	static const struct http_field parameters[] = { { "service", "nobody" },
							FIXTURE_RANGE,
							{} };
	scoped(json_decrefp) json_t *json = ask(*state, parameters, "localhost");

	assert_non_null(strstr(json_text_at(json, "message"), "nobody"));
	assert_int_equal(json_array_size(json_object_get(json, "files")), 0);
	assert_int_equal(json_number_at(json, "count"), 0);
	assert_int_equal(json_number_at(json, "total"), 0);
}

static void the_error_names_the_invalid_parameter(void **state)
{
	static const struct {
		struct http_field parameters[3];
		const char *message;
	} cases[] = {
		{ { { "limit", "0" } }, "limit: '0' is no whole number between 1 and 1000" },
		{ { { "event", "on-fire" } }, "event: 'on-fire'" },
		{ { { "filter", "=" } }, "filter" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		expect_bad_request(*state, api_unresolved, cases[i].parameters, cases[i].message);
}

static void a_failing_store_is_500(void **state)
{
	struct api_fixture *fixture = *state;
	scoped(http_response_release) struct http_response response;

	fixture->store.error = -EIO;
	ask_handler(fixture, api_unresolved, NULL, NULL, &response);
	assert_error(&response, 500, "Input/output error");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		API_TEST(a_file_has_its_share_reason_and_command),
		API_TEST(a_command_names_the_server_unless_it_is_the_default),
		API_TEST(a_command_omits_a_server_name_that_is_too_long),
		API_TEST(without_a_service_and_with_total_all_services_are_selected),
		API_TEST(an_empty_result_is_a_success_with_the_reason),
		API_TEST(the_error_names_the_invalid_parameter),
		API_TEST(a_failing_store_is_500),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
