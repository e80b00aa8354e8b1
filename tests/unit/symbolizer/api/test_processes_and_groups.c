/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/symbolizer/api/api_fixture.h"

static void a_process_has_its_identity_and_microseconds(void **state)
{
	scoped(http_response_release) struct http_response response;
	scoped(json_decrefp) json_t *json = NULL;
	const json_t *process;

	ask_handler(*state, api_processes, NULL, NULL, &response);
	json = json_of(&response);
	assert_int_equal(json_number_at(json, "count"), 1);
	process = json_array_get(json_object_get(json, "processes"), 0);
	assert_int_equal(json_number_at(process, "pid"), 100);
	assert_string_equal(json_text_at(process, "name"), "shares");
	assert_string_equal(json_text_at(process, "host"), "web-1");
	assert_string_equal(json_text_at(process, "executable"), "/opt/shares");
	assert_int_equal(json_number_at(process, "threads"), 2);
	assert_int_equal(json_number_at(process, "value"), 30303);
	assert_int_equal(json_number_at(process, "last_time"), FIXTURE_SECOND);
	assert_int_equal(json_number_at(json, "total"), 30303);
	assert_string_equal(json_text_at(json, "unit"), "microseconds");
}

static void the_number_of_groups_counts_those_beyond_the_limit(void **state)
{
	static const struct http_field by_thread[] = { { "group_by", "thread" },
						       { "limit", "1" },
						       {} };
	scoped(http_response_release) struct http_response response;
	scoped(json_decrefp) json_t *json = NULL;
	const json_t *groups;

	ask_handler(*state, api_groups, by_thread, NULL, &response);
	json = json_of(&response);
	groups = json_object_get(json, "groups");
	assert_int_equal(json_array_size(groups), 1);
	assert_int_equal(json_number_at(json, "count"), 2);
	assert_string_equal(json_text_at(json_array_get(groups, 0), "name"), "shares");
	assert_int_equal(json_number_at(json_array_get(groups, 0), "value"), 20202);
}

static void sums_have_the_losses_of_their_hosts(void **state)
{
	static const struct http_field by_host[] = { { "group_by", "host" }, {} };
	static const struct {
		api_handler handler;
		const struct http_field *parameters;
	} cases[] = { { api_processes, NULL }, { api_groups, by_host } };
	struct api_fixture *fixture = *state;

	fixture->store.n_lost = 300;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		scoped(http_response_release) struct http_response response;
		scoped(json_decrefp) json_t *json = NULL;

		ask_handler(fixture, cases[i].handler, cases[i].parameters, NULL, &response);
		json = json_of(&response);
		assert_int_equal(
			json_number_at(json_object_get(json, "losses"), "ticks_lost_ring_full"),
			303);
		assert_string_equal(http_response_find_header(&response, "X-Hearth-Lost-Ring-Full"),
				    "303");
		assert_non_null(strstr(json_text_at(json, "message"), "were lost in the ring"));
	}
}

static void series_without_the_tag_have_a_null_name(void **state)
{
	static const struct http_field by_cpu[] = { { "group_by", "cpu" }, {} };
	scoped(http_response_release) struct http_response response;
	scoped(json_decrefp) json_t *json = NULL;

	ask_handler(*state, api_groups, by_cpu, NULL, &response);
	json = json_of(&response);
	assert_true(json_is_null(
		json_object_get(json_array_get(json_object_get(json, "groups"), 0), "name")));
}

static void invalid_parameters_and_failures_are_errors(void **state)
{
	static const struct http_field no_limit[] = { { "limit", "0" }, {} };
	struct api_fixture *fixture = *state;
	scoped(http_response_release) struct http_response group, limit, failure;

	ask_handler(fixture, api_groups, NULL, NULL, &group);
	assert_error(&group, 400, "group_by is missing");
	ask_handler(fixture, api_processes, no_limit, NULL, &limit);
	assert_error(&limit, 400, "limit: '0'");
	fixture->store.error = -EIO;
	ask_handler(fixture, api_processes, NULL, NULL, &failure);
	assert_error(&failure, 500, "cannot sum up the samples");
	assert_int_equal(fixture->context.metrics[API_METRIC_STORE_ERRORS], 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		API_TEST(a_process_has_its_identity_and_microseconds),
		API_TEST(the_number_of_groups_counts_those_beyond_the_limit),
		API_TEST(sums_have_the_losses_of_their_hosts),
		API_TEST(series_without_the_tag_have_a_null_name),
		API_TEST(invalid_parameters_and_failures_are_errors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
