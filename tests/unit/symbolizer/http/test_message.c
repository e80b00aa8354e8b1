/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/http/message.h"

#include "tests/support/unit.h"

static void methods_convert_to_names_and_back(void **state)
{
	(void)state;
	assert_int_equal(http_method_from_name("GET"), HTTP_GET);
	assert_int_equal(http_method_from_name("DELETE"), HTTP_DELETE);
	assert_int_equal(http_method_from_name("get"), HTTP_OTHER);
	assert_int_equal(http_method_from_name("BREW"), HTTP_OTHER);
	assert_string_equal(http_method_name(HTTP_PUT), "PUT");
}

static void scopes_convert_to_names_and_back(void **state)
{
	char text[HTTP_SCOPES_TEXT_SIZE];

	(void)state;
	assert_int_equal(http_scope_from_name("read", 4), HTTP_SCOPE_READ);
	assert_int_equal(http_scope_from_name("read,ingest", 4), HTTP_SCOPE_READ);
	assert_int_equal(http_scope_from_name("rea", 3), 0);
	assert_int_equal(http_scope_from_name("", 0), 0);
	http_scopes_format(HTTP_SCOPE_READ | HTTP_SCOPE_INGEST, text);
	assert_string_equal(text, "ingest, read");
	http_scopes_format(HTTP_SCOPE_ALL, text);
	assert_string_equal(text, "ingest, upload, read, admin");
	http_scopes_format(0, text);
	assert_string_equal(text, "");
}

static void names_of_headers_ignore_case_and_names_of_parameters_do_not(void **state)
{
	static const struct http_field headers[] = { { "Content-Type", "a" },
						     { "content-type", "b" } };
	static const struct http_field parameters[] = { { "last", "5m" }, { "empty", "" } };
	const struct http_request request = {
		.headers = headers, .n_headers = 2, .parameters = parameters, .n_parameters = 2
	};

	(void)state;
	assert_string_equal(http_request_header(&request, "CONTENT-TYPE"), "a");
	assert_null(http_request_header(&request, "Content"));
	assert_string_equal(http_request_parameter(&request, "last"), "5m");
	assert_null(http_request_parameter(&request, "LAST"));
	assert_null(http_request_parameter(&request, "empty"));
}

static void a_list_header_accepts_its_elements_with_a_quality_above_zero(void **state)
{
	static const struct {
		const char *value;
		bool accepts;
	} cases[] = {
		{ "gzip", true },
		{ "GZIP", true },
		{ "deflate, gzip;q=1.0, *;q=0.5", true },
		{ "deflate,gzip", true },
		{ " gzip ; q=0.001", true },
		{ "gzip;q=0", false },
		{ "gzip; q=0.000", false },
		{ "gzip;x=1;q=0", false },
		{ "xgzip", false },
		{ "gzipx, deflate", false },
		{ "identity", false },
		{ "", false },
		{ ",,,", false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct http_field header = { "Accept-Encoding", cases[i].value };
		const struct http_request request = { .headers = &header, .n_headers = 1 };

		if (http_request_accepts(&request, "Accept-Encoding", "gzip") != cases[i].accepts)
			fail_msg("'%s'", cases[i].value);
	}
	assert_false(http_request_accepts(&(struct http_request){}, "Accept-Encoding", "gzip"));
}

static void an_error_replaces_the_body(void **state)
{
	scoped(http_response_release) struct http_response response;

	(void)state;
	http_response_init(&response);
	assert_int_equal(response.status, 200);
	bytes_append_text(&response.body, "half an answer");
	response.content_type = "text/html";
	response.fixed_body = (struct bytes_view){ (const uint8_t *)"x", 1 };

	http_response_error(&response, 404, "no '%s' here", "\"thing\"\n");
	assert_int_equal(response.status, 404);
	assert_string_equal(response.content_type, "application/json");
	assert_null(response.fixed_body.data);
	assert_bytes_equal_text(&response.body, "{\"error\":\"no '\\\"thing\\\"\\n' here\"}");
}

static void write_number(struct http_response *response, unsigned int status, const char *message)
{
	bytes_append_format(&response->body, "%u %s", status, message);
}

static void a_route_can_format_its_errors(void **state)
{
	scoped(http_response_release) struct http_response response;

	(void)state;
	http_response_init(&response);
	response.error_style = write_number;
	http_response_error(&response, 413, "too %s", "large");
	assert_bytes_equal_text(&response.body, "413 too large");
}

static void header_values_cannot_begin_a_new_header(void **state)
{
	scoped(http_response_release) struct http_response response;
	char longer[2 * HTTP_HEADER_VALUE_SIZE];

	(void)state;
	http_response_init(&response);
	http_response_header(&response, "X-Name", "a\r\nSet-Cookie: b");
	assert_string_equal(http_response_find_header(&response, "x-name"), "a  Set-Cookie: b");
	assert_null(http_response_find_header(&response, "Set-Cookie"));

	memset(longer, 'y', sizeof(longer) - 1);
	longer[sizeof(longer) - 1] = '\0';
	http_response_header(&response, "X-Long", "%s", longer);
	assert_int_equal(strlen(http_response_find_header(&response, "X-Long")),
			 HTTP_HEADER_VALUE_SIZE - 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(methods_convert_to_names_and_back),
		cmocka_unit_test(scopes_convert_to_names_and_back),
		cmocka_unit_test(names_of_headers_ignore_case_and_names_of_parameters_do_not),
		cmocka_unit_test(a_list_header_accepts_its_elements_with_a_quality_above_zero),
		cmocka_unit_test(an_error_replaces_the_body),
		cmocka_unit_test(a_route_can_format_its_errors),
		cmocka_unit_test(header_values_cannot_begin_a_new_header),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
