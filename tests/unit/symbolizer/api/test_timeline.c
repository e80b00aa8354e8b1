/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/symbolizer/api/api_fixture.h"

/* Agents of the fake store run for ten seconds from FIXTURE_SECOND = 1700000000. */
static const struct http_field twenty_seconds[] = { { "since", "1699999995" },
						    { "until", "1700000015" },
						    { "step", "5s" },
						    { "service", "shares" },
						    {} };

static json_t *get(struct api_fixture *fixture, api_handler handler,
		   const struct http_field *parameters)
{
	scoped(http_response_release) struct http_response response;

	ask_handler(fixture, handler, parameters, NULL, &response);
	assert_int_equal(response.status, 200);
	return json_of(&response);
}

static json_int_t value_at(const json_t *values, size_t index)
{
	const json_t *value = json_array_get(values, index);

	return json_is_null(value) ? -1 : json_integer_value(value);
}

static void steps_without_an_agent_are_null_and_idle_steps_are_zero(void **state)
{
	scoped(json_decrefp) json_t *json = get(*state, api_timeline, twenty_seconds);
	const json_t *values = json_object_get(json, "values");

	assert_int_equal(json_array_size(values), 4);
	assert_int_equal(value_at(values, 0), -1);
	assert_int_equal(value_at(values, 1), 30303);
	assert_int_equal(value_at(values, 2), 0);
	assert_int_equal(value_at(values, 3), -1);
	assert_int_equal(json_number_at(json, "total"), 30303);
	assert_int_equal(json_number_at(json, "step_ms"), 5000);
	assert_string_equal(json_text_at(json, "unit"), "microseconds");
	assert_int_equal(json_number_at(json_object_get(json, "losses"), "ticks_lost_ring_full"),
			 3);
	assert_null(json_object_get(json, "groups"));
}

static void steps_begin_at_multiples_of_their_length(void **state)
{
	static const struct http_field parameters[] = {
		{ "since", "1699999999" }, { "until", "1700000001" }, { "step", "10s" }, {}
	};
	scoped(json_decrefp) json_t *json = get(*state, api_timeline, parameters);

	assert_true(json_real_value(json_object_get(json, "since")) == 1699999990.0 ||
		    json_integer_value(json_object_get(json, "since")) == 1699999990);
	assert_int_equal(json_array_size(json_object_get(json, "values")), 2);
}

static void each_value_of_a_tag_has_a_row_the_largest_first(void **state)
{
	static const struct http_field parameters[] = {
		{ "since", "1700000000" }, { "until", "1700000001" }, { "step", "500ms" },
		{ "group_by", "thread" },  { "service", "shares" },   {}
	};
	scoped(json_decrefp) json_t *json = get(*state, api_timeline, parameters);
	const json_t *groups = json_object_get(json, "groups");
	const json_t *first = json_array_get(groups, 0), *second = json_array_get(groups, 1);

	assert_int_equal(json_array_size(groups), 2);
	assert_string_equal(json_text_at(first, "name"), "shares");
	assert_int_equal(value_at(json_object_get(first, "values"), 0), 10101);
	assert_int_equal(value_at(json_object_get(first, "values"), 1), 10101);
	assert_string_equal(json_text_at(second, "name"), "worker");
	assert_int_equal(value_at(json_object_get(second, "values"), 0), 0);
	assert_int_equal(value_at(json_object_get(second, "values"), 1), 10101);
}

static void the_limit_keeps_the_largest_groups_and_counts_all(void **state)
{
	static const struct http_field parameters[] = {
		{ "since", "1700000000" }, { "until", "1700000001" }, { "limit", "1" },
		{ "group_by", "thread" },  { "service", "shares" },   {}
	};
	scoped(json_decrefp) json_t *json = get(*state, api_timeline, parameters);

	assert_int_equal(json_array_size(json_object_get(json, "groups")), 1);
	assert_int_equal(json_number_at(json, "count"), 2);
	assert_int_equal(json_number_at(json, "total"), 30303);
}

static void an_answer_without_samples_names_the_reason(void **state)
{
	static const struct http_field parameters[] = { { "service", "shores" },
							{ "last", "2m" },
							{} };
	scoped(json_decrefp) json_t *json = get(*state, api_timeline, parameters);

	assert_int_equal(json_number_at(json, "total"), 0);
	assert_non_null(strstr(json_text_at(json, "message"), "shores"));
	assert_int_equal(value_at(json_object_get(json, "values"), 0), -1);
}

static void a_heatmap_has_a_row_of_cells_for_each_second(void **state)
{
	static const struct http_field parameters[] = { { "since", "1699999999" },
							{ "until", "1700000002" },
							{ "cell", "10ms" },
							{ "service", "shares" },
							{} };
	scoped(json_decrefp) json_t *json = get(*state, api_heatmap, parameters);
	const json_t *seconds = json_object_get(json, "seconds");
	const json_t *busy = json_array_get(seconds, 1);

	assert_int_equal(json_array_size(seconds), 3);
	assert_int_equal(json_array_size(busy), 100);
	assert_int_equal(value_at(json_array_get(seconds, 0), 99), -1);
	assert_int_equal(value_at(busy, 0), 10101);
	assert_int_equal(value_at(busy, 1), 0);
	assert_int_equal(value_at(busy, 50), 10101);
	assert_int_equal(value_at(busy, 99), 10101);
	assert_int_equal(value_at(json_array_get(seconds, 2), 0), 0);
	assert_int_equal(json_number_at(json, "max"), 10101);
	assert_int_equal(json_number_at(json, "total"), 30303);
}

static void invalid_requests_are_refused_with_the_reason(void **state)
{
	static const struct {
		api_handler handler;
		struct http_field parameters[4];
		const char *part;
	} cases[] = {
		{ api_timeline, { { "step", "15ms" } }, "step: '15ms' is no multiple of 10 ms" },
		{ api_timeline, { { "step", "soon" } }, "step: 'soon'" },
		{ api_timeline, { { "step", "10ms" }, { "last", "1h" } }, "360000 steps" },
		{ api_timeline, { { "group_by", "thraed" } }, "did you mean 'thread'" },
		{ api_timeline, { { "filter", "host =" } }, "tag_filter" },
		{ api_timeline, { { "limit", "0" } }, "limit: '0'" },
		{ api_timeline, { { "event", "mem-inuse" } }, "states" },
		{ api_heatmap, { { "cell", "30ms" } }, "a second must be a multiple" },
		{ api_heatmap, { { "cell", "1s" } }, "a second must be a multiple" },
		{ api_heatmap, { { "last", "2h" } }, "at most 900 s" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		expect_bad_request(*state, cases[i].handler, cases[i].parameters, cases[i].part);
}

static void a_failing_store_is_an_error_and_counted(void **state)
{
	struct api_fixture *fixture = *state;
	scoped(http_response_release) struct http_response response;

	fixture->store.error = -EIO;
	ask_handler(fixture, api_timeline, NULL, NULL, &response);
	assert_error(&response, 500, "cannot sum up the samples");
	assert_int_equal(fixture->context.metrics[API_METRIC_STORE_ERRORS], 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		API_TEST(steps_without_an_agent_are_null_and_idle_steps_are_zero),
		API_TEST(steps_begin_at_multiples_of_their_length),
		API_TEST(each_value_of_a_tag_has_a_row_the_largest_first),
		API_TEST(the_limit_keeps_the_largest_groups_and_counts_all),
		API_TEST(an_answer_without_samples_names_the_reason),
		API_TEST(a_heatmap_has_a_row_of_cells_for_each_second),
		API_TEST(invalid_requests_are_refused_with_the_reason),
		API_TEST(a_failing_store_is_an_error_and_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
