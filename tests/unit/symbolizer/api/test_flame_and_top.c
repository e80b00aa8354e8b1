/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/symbolizer/api/api_fixture.h"

static void a_flame_graph_has_columns_and_figures(void **state)
{
	static const struct http_field parameters[] = { { "service", "shares" },
							FIXTURE_RANGE,
							{} };
	scoped(http_response_release) struct http_response response;
	scoped(json_decrefp) json_t *json = NULL;

	ask_handler(*state, api_flame, parameters, NULL, &response);
	json = json_of(&response);
	assert_int_equal(response.status, 200);
	assert_int_equal(
		json_array_size(json_object_get(json_object_get(json, "result"), "functions")), 5);
	assert_int_equal(json_number_at(json_object_get(json, "stats"), "total"), 30303);
	assert_string_equal(json_text_at(json, "event"), "on-cpu");
	assert_string_equal(json_text_at(json, "unit"), "microseconds");
	assert_string_equal(json_text_at(json, "message"), "");
	assert_int_equal(json_number_at(json, "since"), 1700000000);
	assert_int_equal(json_number_at(json, "until"), 1700000001);
	assert_string_equal(http_response_find_header(&response, "X-Hearth-Total"), "30303");
}

static void a_flame_graph_can_have_nodes(void **state)
{
	static const struct http_field parameters[] = { { "service", "heap" },
							{ "event", "mem-alloc" },
							{ "format", "nodes" },
							FIXTURE_RANGE,
							{} };
	scoped(http_response_release) struct http_response response;
	scoped(json_decrefp) json_t *json = NULL;

	ask_handler(*state, api_flame, parameters, NULL, &response);
	json = json_of(&response);
	assert_int_equal(json_array_size(json_object_get(json, "result")), 3);
	assert_string_equal(json_text_at(json, "unit"), "bytes");
}

static void options_of_the_tree_are_passed_on(void **state)
{
	static const struct http_field parameters[] = { { "service", "shares" },
							{ "format", "nodes" },
							{ "fold_threads", "true" },
							{ "max_kernel_stack_depth", "0" },
							FIXTURE_RANGE,
							{} };
	scoped(http_response_release) struct http_response response;
	scoped(json_decrefp) json_t *json = NULL;
	const json_t *result;

	/* Without threads and kernel frames, one function is left. */
	ask_handler(*state, api_flame, parameters, NULL, &response);
	json = json_of(&response);
	result = json_object_get(json, "result");
	assert_string_equal(json_text_at(json_array_get(result, json_array_size(result) - 1),
					 "profile_location_str"),
			    "[/opt/shares]");
	assert_int_equal(
		json_number_at(json_array_get(result, json_array_size(result) - 1), "self_value"),
		30303);
}

/* The kernel function has two of three samples, both with the same caller and thread. */
static void one_side_of_a_function_can_be_requested(void **state)
{
	static const struct {
		struct http_field parameters[6];
		const char *innermost;
		size_t n_nodes;
	} cases[] = {
		{ { { "service", "shares" },
		    { "format", "nodes" },
		    { "callers_of", "[k] do_syscall" },
		    FIXTURE_RANGE,
		    {} },
		  "[p] shares",
		  4 },
		{ { { "service", "shares" },
		    { "format", "nodes" },
		    { "callees_of", "do_syscall" },
		    FIXTURE_RANGE,
		    {} },
		  "[k] do_syscall",
		  2 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		scoped(http_response_release) struct http_response response;
		scoped(json_decrefp) json_t *json = NULL;
		const json_t *result, *last;

		ask_handler(*state, api_flame, cases[i].parameters, NULL, &response);
		json = json_of(&response);
		result = json_object_get(json, "result");
		assert_int_equal(json_array_size(result), cases[i].n_nodes);
		last = json_array_get(result, cases[i].n_nodes - 1);
		assert_string_equal(json_text_at(last, "profile_location_str"), cases[i].innermost);
		assert_int_equal(json_number_at(last, "self_value"), 20202);
		assert_int_equal(json_number_at(json_array_get(result, 0), "total_value"), 20202);
	}
}

static void a_function_that_no_stack_has_is_named(void **state)
{
	static const struct http_field parameters[] = {
		{ "service", "shares" }, { "callees_of", "nothing" }, FIXTURE_RANGE, {}
	};
	scoped(http_response_release) struct http_response response;
	scoped(json_decrefp) json_t *json = NULL;

	ask_handler(*state, api_flame, parameters, NULL, &response);
	json = json_of(&response);
	assert_int_equal(response.status, 200);
	assert_true(json_is_null(json_object_get(json, "result")));
	assert_non_null(strstr(json_text_at(json, "message"), "'nothing'"));
}

static void an_empty_result_is_a_success_with_the_reason(void **state)
{
	static const struct http_field parameters[] = { { "service", "nobody" },
							FIXTURE_RANGE,
							{} };
	static const api_handler handlers[] = { api_flame, api_top };

	for (size_t i = 0; i < ARRAY_SIZE(handlers); i++) {
		scoped(http_response_release) struct http_response response;
		scoped(json_decrefp) json_t *json = NULL;

		ask_handler(*state, handlers[i], parameters, NULL, &response);
		json = json_of(&response);
		assert_int_equal(response.status, 200);
		assert_non_null(strstr(json_text_at(json, "message"), "nobody"));
	}
}

static void top_functions_are_sorted_and_limited(void **state)
{
	static const struct {
		struct http_field parameters[6];
		const char *labels[3];
	} cases[] = {
		{ { { "service", "shares" }, FIXTURE_RANGE },
		  { "[k] do_syscall", "[/opt/shares]" } },
		{ { { "service", "shares" }, FIXTURE_RANGE, { "sort", "total" } },
		  { "[/opt/shares]", "[k] do_syscall" } },
		{ { { "service", "shares" }, FIXTURE_RANGE, { "limit", "1" } },
		  { "[k] do_syscall" } },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		scoped(http_response_release) struct http_response response;
		scoped(json_decrefp) json_t *json = NULL;
		const json_t *functions;
		size_t count = 0;

		ask_handler(*state, api_top, cases[i].parameters, NULL, &response);
		json = json_of(&response);
		functions = json_object_get(json, "functions");
		for (; cases[i].labels[count]; count++)
			assert_string_equal(
				json_text_at(json_array_get(functions, count), "function"),
				cases[i].labels[count]);
		assert_int_equal(json_array_size(functions), count);
	}
}

static void a_top_function_has_self_and_total_over_the_whole_tree(void **state)
{
	static const struct http_field parameters[] = {
		{ "service", "shares" }, { "sort", "total" }, FIXTURE_RANGE, {}
	};
	scoped(http_response_release) struct http_response response;
	scoped(json_decrefp) json_t *json = NULL;
	const json_t *first;

	ask_handler(*state, api_top, parameters, NULL, &response);
	json = json_of(&response);
	first = json_array_get(json_object_get(json, "functions"), 0);
	assert_string_equal(json_text_at(first, "type"), "?");
	assert_int_equal(json_number_at(first, "self_value"), 10101);
	assert_int_equal(json_number_at(first, "total_value"), 30303);
}

static void top_of_whole_hosts_has_processes_by_the_total_of_all_their_threads(void **state)
{
	static const struct http_field parameters[] = { { "service", "Total" }, FIXTURE_RANGE, {} };
	scoped(http_response_release) struct http_response response;
	scoped(json_decrefp) json_t *json = NULL;
	const json_t *functions;

	ask_handler(*state, api_top, parameters, NULL, &response);
	json = json_of(&response);
	functions = json_object_get(json, "functions");
	assert_int_equal(json_array_size(functions), 1);
	assert_string_equal(json_text_at(json_array_get(functions, 0), "function"), "[p] shares");
	assert_int_equal(json_number_at(json_array_get(functions, 0), "self_value"), 20202);
	assert_int_equal(json_number_at(json_array_get(functions, 0), "total_value"), 30303);
}

static void the_error_names_the_invalid_parameter(void **state)
{
	static const struct {
		api_handler handler;
		struct http_field parameters[3];
		const char *message;
	} cases[] = {
		{ api_flame,
		  { { "event", "on-fire" } },
		  "event: 'on-fire' is no event type; there are on-cpu" },
		{ api_flame,
		  { { "format", "xml" } },
		  "format: 'xml' is neither columns nor nodes" },
		{ api_flame, { { "filter", "=" } }, "filter" },
		{ api_flame, { { "last", "soon" } }, "last: 'soon'" },
		{ api_flame,
		  { { "fold_threads", "maybe" } },
		  "fold_threads: 'maybe' is neither true nor false" },
		{ api_flame,
		  { { "inlines", "maybe" } },
		  "inlines: 'maybe' is neither true nor false" },
		{ api_flame,
		  { { "function_starts", "maybe" } },
		  "function_starts: 'maybe' is neither true nor false" },
		{ api_flame,
		  { { "max_nodes", "many" } },
		  "max_nodes: 'many' is no whole number between 0 and" },
		{ api_flame, { { "max_nodes", "-1" } }, "max_nodes: '-1'" },
		{ api_flame,
		  { { "max_kernel_stack_depth", "-2" } },
		  "max_kernel_stack_depth: '-2'" },
		{ api_flame,
		  { { "max_nodes", "99999999999999999999" } },
		  "max_nodes: '99999999999999999999' is no whole number" },
		{ api_top,
		  { { "limit", "0" } },
		  "limit: '0' is no whole number between 1 and 100000" },
		{ api_top, { { "sort", "name" } }, "sort: 'name' is neither self nor total" },
		{ api_top,
		  { { "since", "100" }, { "until", "50" } },
		  "since must be before until" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		expect_bad_request(*state, cases[i].handler, cases[i].parameters, cases[i].message);
}

static void a_failing_store_is_500(void **state)
{
	struct api_fixture *fixture = *state;
	scoped(http_response_release) struct http_response response;

	fixture->store.error = -EIO;
	ask_handler(fixture, api_flame, NULL, NULL, &response);
	assert_error(&response, 500, "Input/output error");
}

static void a_query_beyond_memory_limit_is_refused_for_now(void **state)
{
	static const api_handler handlers[] = { api_flame, api_top, api_processes, api_unresolved };
	struct api_fixture *fixture = *state;
	struct memory_budget budget = { .limit_bytes = 1 };

	fixture->context.memory = &budget;
	for (size_t i = 0; i < ARRAY_SIZE(handlers); i++) {
		scoped(http_response_release) struct http_response response;

		ask_handler(fixture, handlers[i], NULL, NULL, &response);
		assert_error(&response, 503,
			     "the queries that run now need more memory than memory_limit allows");
		assert_non_null(http_response_find_header(&response, "Retry-After"));
		assert_int_equal(budget.used_bytes, 0);
	}
	assert_true(fixture->context.metrics[API_METRIC_QUERIES_NO_MEMORY] > 0);
	fixture->context.memory = NULL;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		API_TEST(a_query_beyond_memory_limit_is_refused_for_now),
		API_TEST(a_flame_graph_has_columns_and_figures),
		API_TEST(a_flame_graph_can_have_nodes),
		API_TEST(options_of_the_tree_are_passed_on),
		API_TEST(one_side_of_a_function_can_be_requested),
		API_TEST(a_function_that_no_stack_has_is_named),
		API_TEST(an_empty_result_is_a_success_with_the_reason),
		API_TEST(top_functions_are_sorted_and_limited),
		API_TEST(a_top_function_has_self_and_total_over_the_whole_tree),
		API_TEST(top_of_whole_hosts_has_processes_by_the_total_of_all_their_threads),
		API_TEST(the_error_names_the_invalid_parameter),
		API_TEST(a_failing_store_is_500),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
