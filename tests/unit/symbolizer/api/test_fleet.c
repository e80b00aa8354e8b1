/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/symbolizer/api/api_fixture.h"

static void an_agents_coverage_losses_and_cost_are_reported(void **state)
{
	scoped(http_response_release) struct http_response response;
	scoped(json_decrefp) json_t *json = NULL;
	const json_t *host, *losses, *cuts;

	ask_handler(*state, api_fleet, NULL, NULL, &response);
	json = json_of(&response);
	assert_int_equal(json_number_at(json, "covered_s"), 10);
	assert_int_equal(json_number_at(json, "not_seen"), 0);
	assert_int_equal(json_number_at(json, "since"), FIXTURE_NOW - 3600);
	host = json_array_get(json_object_get(json, "hosts"), 0);
	assert_string_equal(json_text_at(host, "name"), "web-1");
	assert_int_equal(json_number_at(host, "covered_s"), 10);
	assert_int_equal(json_number_at(host, "counted_s"), 10);
	assert_int_equal(json_number_at(host, "ticks_expected"), 3960);
	assert_int_equal(json_number_at(host, "ticks_lost"), 7);
	assert_int_equal(json_number_at(host, "ticks_missed"), 5);
	assert_int_equal(json_number_at(host, "stacks_cut"), 14);
	assert_int_equal(json_number_at(host, "agent_cpu"), 21000);
	assert_int_equal(json_integer_value(json_object_get(host, "clock_offset_ms")), -100);
	losses = json_object_get(host, "losses");
	assert_int_equal(json_number_at(losses, "ticks_lost_ring_full"), 3);
	assert_int_equal(json_number_at(losses, "ticks_lost_failed"), 4);
	assert_int_equal(json_number_at(losses, "frequency_lowered_s"), 4);
	cuts = json_object_get(losses, "stacks_cut_by_reason");
	assert_int_equal(json_number_at(cuts, "depth"), 6);
	assert_int_equal(json_number_at(cuts, "no-mapping"), 7);
	assert_int_equal(json_number_at(cuts, "unknown"), 1);
}

static void a_host_without_batches_is_only_counted(void **state)
{
	static const struct http_field earlier[] = { { "since", "1699990000" },
						     { "until", "1699999000" },
						     {} };
	scoped(http_response_release) struct http_response response;
	scoped(json_decrefp) json_t *json = NULL;

	ask_handler(*state, api_fleet, earlier, NULL, &response);
	json = json_of(&response);
	assert_int_equal(json_number_at(json, "covered_s"), 0);
	assert_int_equal(json_array_size(json_object_get(json, "hosts")), 0);
	assert_int_equal(json_number_at(json, "not_seen"), 1);
}

static void profiles_have_the_covered_time(void **state)
{
	static const struct http_field service[] = { { "service", "shares" }, {} };
	scoped(http_response_release) struct http_response response;
	scoped(json_decrefp) json_t *json = NULL;

	ask_handler(*state, api_flame, service, NULL, &response);
	json = json_of(&response);
	assert_int_equal(json_number_at(json_object_get(json, "stats"), "covered_s"), 10);
}

static void invalid_times_and_failures_are_errors(void **state)
{
	static const struct http_field wrong[] = { { "last", "soon" }, {} };
	struct api_fixture *fixture = *state;
	scoped(http_response_release) struct http_response refused, failed;

	ask_handler(fixture, api_fleet, wrong, NULL, &refused);
	assert_error(&refused, 400, "soon");
	fixture->store.error = -EIO;
	ask_handler(fixture, api_fleet, NULL, NULL, &failed);
	assert_error(&failed, 500, "sample store");
}

static void a_range_with_too_many_batches_is_refused(void **state)
{
	struct api_fixture *fixture = *state;
	scoped(http_response_release) struct http_response response;

	fixture->store.error = -E2BIG;
	ask_handler(fixture, api_fleet, NULL, NULL, &response);
	assert_error(&response, 400, "ask for a shorter one");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		API_TEST(an_agents_coverage_losses_and_cost_are_reported),
		API_TEST(a_host_without_batches_is_only_counted),
		API_TEST(profiles_have_the_covered_time),
		API_TEST(a_range_with_too_many_batches_is_refused),
		API_TEST(invalid_times_and_failures_are_errors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
