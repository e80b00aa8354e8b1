/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "tests/unit/symbolizer/api/api_fixture.h"

static const json_t *function_of(const json_t *answer, const char *name)
{
	const json_t *row;
	size_t i;

	json_array_foreach(json_object_get(answer, "functions"), i,
			   row) if (strcmp(json_text_at(row, "function"), name) == 0) return row;
	fail_msg("no function '%s'", name);
	return NULL;
}

static double change_at(const json_t *row, const char *key)
{
	return json_number_value(json_object_get(row, key));
}

/* The main thread 'shares' was sampled in the kernel, the thread 'worker' was not. */
static void two_filters_of_the_same_time_are_compared(void **state)
{
	static const struct http_field parameters[] = { { "service", "shares" },
							{ "filter", "thread = 'worker'" },
							{ "base_filter", "thread = 'shares'" },
							FIXTURE_RANGE,
							{} };
	scoped(http_response_release) struct http_response response;
	scoped(json_decrefp) json_t *json = NULL;
	const json_t *row;

	ask_handler(*state, api_diff, parameters, NULL, &response);
	json = json_of(&response);
	assert_int_equal(response.status, 200);
	assert_string_equal(json_text_at(json, "mode"), "relative");
	assert_int_equal(json_number_at(json_object_get(json, "base"), "total"), 20202);
	assert_int_equal(json_number_at(json_object_get(json, "after"), "total"), 10101);
	assert_string_equal(json_text_at(json_object_get(json, "base"), "filter"),
			    "thread = 'shares'");
	assert_int_equal(json_number_at(json_object_get(json, "base"), "since"), 1700000000);
	row = function_of(json, "[k] do_syscall");
	assert_string_equal(json_text_at(row, "state"), "vanished");
	assert_true(fabs(change_at(row, "self_change") + 100) < 1e-9);
	row = function_of(json, "[/opt/shares]");
	assert_string_equal(json_text_at(row, "state"), "both");
	assert_true(fabs(change_at(row, "self_change") - 100) < 1e-9);
	assert_true(fabs(change_at(row, "total_change")) < 1e-9);
}

static void a_base_with_only_an_end_has_the_length_of_the_selection(void **state)
{
	static const struct http_field parameters[] = { { "service", "shares" },
							{ "since", "1700000001" },
							{ "until", "1700000002" },
							{ "base_until", "1700000001" },
							{} };
	scoped(http_response_release) struct http_response response;

	/* The samples are in the second 1700000000: the base has them, the selection has none. */
	ask_handler(*state, api_diff, parameters, NULL, &response);
	assert_int_equal(response.status, 404);
	assert_null(memmem(response.body.data, response.body.size, "the base", 8));
}

static void the_404_for_a_base_without_samples_names_the_base(void **state)
{
	static const struct http_field parameters[] = {
		{ "service", "shares" }, { "base_service", "nobody" }, FIXTURE_RANGE, {}
	};
	scoped(http_response_release) struct http_response response;

	ask_handler(*state, api_diff, parameters, NULL, &response);
	assert_error(&response, 404, "the base: ");
}

static void rows_are_limited_and_counted(void **state)
{
	static const struct http_field parameters[] = { { "service", "shares" },
							{ "base_filter", "thread = 'worker'" },
							{ "limit", "1" },
							{ "mode", "absolute" },
							{ "sort", "total" },
							FIXTURE_RANGE,
							{} };
	scoped(http_response_release) struct http_response response;
	scoped(json_decrefp) json_t *json = NULL;

	ask_handler(*state, api_diff, parameters, NULL, &response);
	json = json_of(&response);
	assert_int_equal(json_array_size(json_object_get(json, "functions")), 1);
	assert_int_equal(json_number_at(json, "count"), 2);
	assert_string_equal(json_text_at(json, "mode"), "absolute");
	assert_string_equal(json_text_at(json, "sort"), "total");
}

static void the_error_names_the_invalid_parameter(void **state)
{
	static const struct {
		struct http_field parameters[4];
		const char *message;
	} cases[] = {
		{ { { "service", "shares" } }, "the base is missing: give base_since" },
		{ { { "base_last", "5m" }, { "mode", "odd" } }, "mode: 'odd' is neither relative" },
		{ { { "base_last", "5m" }, { "sort", "odd" } }, "sort: 'odd' is neither self" },
		{ { { "base_last", "5m" }, { "base_event", "on-cpu" } }, "base_event: both sides" },
		{ { { "base_last", "5m" }, { "limit", "0" } }, "limit: '0'" },
		{ { { "base_last", "soon" }, { "service", "x" } }, "last: 'soon'" },
		{ { { "base_filter", "=" }, { "service", "shares" } }, "the base: " },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		expect_bad_request(*state, api_diff, cases[i].parameters, cases[i].message);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		API_TEST(two_filters_of_the_same_time_are_compared),
		API_TEST(a_base_with_only_an_end_has_the_length_of_the_selection),
		API_TEST(the_404_for_a_base_without_samples_names_the_base),
		API_TEST(rows_are_limited_and_counted),
		API_TEST(the_error_names_the_invalid_parameter),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
