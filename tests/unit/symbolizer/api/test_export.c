/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/export/export.h"
#include "tests/unit/symbolizer/api/api_fixture.h"

static void a_folded_export_has_exact_values_and_a_file_name(void **state)
{
	static const struct http_field parameters[] = {
		{ "service", "shares" }, { "format", "folded" }, FIXTURE_RANGE, {}
	};
	static const char expected[] = "shares;[p] shares;[/opt/shares];[k] do_syscall 20202020\n"
				       "shares;[t] worker;[/opt/shares] 10101010\n";
	scoped(http_response_release) struct http_response response;

	ask_handler(*state, api_export, parameters, NULL, &response);
	assert_int_equal(response.status, 200);
	assert_string_equal(response.content_type, "text/plain; charset=utf-8");
	assert_int_equal(response.body.size, strlen(expected));
	assert_memory_equal(response.body.data, expected, strlen(expected));
	assert_string_equal(
		http_response_find_header(&response, "Content-Disposition"),
		"attachment; filename=\"hearth-shares-on-cpu-20231114T221320Z.folded\"");
	assert_string_equal(http_response_find_header(&response, "X-Hearth-Total"), "30303");
}

static void the_file_name_has_no_character_with_a_meaning(void **state)
{
	static const struct http_field parameters[] = {
		{ "service", "shares" }, { "filter", "host = 'web-1'" },
		{ "event", "on-cpu" },   { "format", "pprof" },
		FIXTURE_RANGE,           {}
	};
	static const struct http_field hostile[] = {
		{ "service", "../\"; rm\r\n" }, { "format", "pprof" }, FIXTURE_RANGE, {}
	};
	scoped(http_response_release) struct http_response response;
	scoped(http_response_release) struct http_response refused;

	ask_handler(*state, api_export, parameters, NULL, &response);
	assert_string_equal(http_response_find_header(&response, "Content-Disposition"),
			    "attachment; filename=\"hearth-shares-on-cpu-20231114T221320Z.pb.gz\"");
	ask_handler(*state, api_export, hostile, NULL, &refused);
	assert_int_equal(refused.status, 404);
	assert_null(http_response_find_header(&refused, "Content-Disposition"));
}

static void every_format_exports_every_selection(void **state)
{
	static const char *const formats[] = {
#define EXPORT_FORMAT(id, name, ...) name,
#include "common/export_formats.def"
#undef EXPORT_FORMAT
	};
	static const char *const selections[][2] = { { "shares", "on-cpu" },
						     { "heap", "mem-alloc" },
						     { "Total", "on-cpu" } };

	for (size_t i = 0; i < ARRAY_SIZE(formats); i++) {
		for (size_t k = 0; k < ARRAY_SIZE(selections); k++) {
			const struct http_field parameters[] = { { "service", selections[k][0] },
								 { "event", selections[k][1] },
								 { "format", formats[i] },
								 FIXTURE_RANGE,
								 {} };
			scoped(http_response_release) struct http_response response;

			ask_handler(*state, api_export, parameters, NULL, &response);
			if (response.status != 200)
				fail_msg("%s of %s: %.*s", formats[i], selections[k][0],
					 (int)response.body.size, (const char *)response.body.data);
			assert_string_equal(response.content_type,
					    export_format_find(formats[i])->content_type);
		}
	}
}

static void no_samples_are_404_with_the_reason(void **state)
{
	static const struct http_field parameters[] = {
		{ "service", "nobody" }, { "format", "json" }, FIXTURE_RANGE, {}
	};
	scoped(http_response_release) struct http_response response;

	ask_handler(*state, api_export, parameters, NULL, &response);
	assert_error(&response, 404, "nobody");
}

static void the_error_names_the_invalid_parameter(void **state)
{
	static const struct {
		struct http_field parameters[3];
		const char *message;
	} cases[] = {
		{ { { "service", "shares" } }, "format is missing; there are pprof, folded" },
		{ { { "format", "xml" } }, "format: 'xml' is unknown; there are pprof, folded" },
		{ { { "format", "csv" }, { "event", "on-fire" } }, "event: 'on-fire'" },
		{ { { "format", "csv" }, { "last", "soon" } }, "last: 'soon'" },
		{ { { "format", "csv" }, { "filter", "=" } }, "filter" },
		{ { { "format", "pprof" }, { "filter", "=" } }, "filter" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		expect_bad_request(*state, api_export, cases[i].parameters, cases[i].message);
}

static void a_full_memory_budget_is_503_and_a_store_error_is_500(void **state)
{
	static const struct http_field parameters[] = {
		{ "service", "shares" }, { "format", "pprof" }, FIXTURE_RANGE, {}
	};
	struct memory_budget budget = { .limit_bytes = 1 };
	struct api_fixture *fixture = *state;
	scoped(http_response_release) struct http_response full;
	scoped(http_response_release) struct http_response failed;

	fixture->context.memory = &budget;
	ask_handler(fixture, api_export, parameters, NULL, &full);
	assert_error(&full, 503, "memory_limit");
	fixture->context.memory = NULL;
	fixture->store.error = -EIO;
	ask_handler(fixture, api_export, parameters, NULL, &failed);
	assert_error(&failed, 500, "the sample store failed");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		API_TEST(a_folded_export_has_exact_values_and_a_file_name),
		API_TEST(the_file_name_has_no_character_with_a_meaning),
		API_TEST(every_format_exports_every_selection),
		API_TEST(no_samples_are_404_with_the_reason),
		API_TEST(the_error_names_the_invalid_parameter),
		API_TEST(a_full_memory_budget_is_503_and_a_store_error_is_500),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
