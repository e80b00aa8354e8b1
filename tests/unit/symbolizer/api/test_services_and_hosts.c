/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/symbolizer/api/api_fixture.h"

static void services_are_listed_with_their_facts(void **state)
{
	scoped(http_response_release) struct http_response response;
	scoped(json_decrefp) json_t *json = NULL;
	const json_t *services, *shares;

	ask_handler(*state, api_services, NULL, NULL, &response);
	json = json_of(&response);
	services = json_object_get(json, "services");
	assert_int_equal(json_array_size(services), 2);
	assert_string_equal(json_text_at(json_array_get(services, 0), "name"), "heap");
	shares = json_array_get(services, 1);
	assert_string_equal(json_text_at(shares, "name"), "shares");
	assert_string_equal(json_text_at(shares, "event"), "on-cpu");
	assert_int_equal(json_number_at(shares, "first_time"), FIXTURE_SECOND);
	assert_in_range(json_number_at(shares, "last_time"), FIXTURE_SECOND, FIXTURE_SECOND + 1);
	assert_int_equal(json_number_at(shares, "hosts"), 1);
	assert_int_equal(json_number_at(shares, "processes"), 1);
	assert_int_equal(json_number_at(json, "until"), FIXTURE_NOW);
	assert_int_equal(json_number_at(json, "since"), FIXTURE_NOW - 86400);
}

static void services_can_be_limited_to_an_event_type(void **state)
{
	static const struct {
		struct http_field parameters[3];
		size_t count;
	} cases[] = {
		{ { { "event", "mem-alloc" } }, 1 },
		{ { { "event", "off-cpu" } }, 0 },
		{ { { "event", "" } }, 2 },
		{ { { "last", "30s" } }, 0 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		scoped(http_response_release) struct http_response response;
		scoped(json_decrefp) json_t *json = NULL;

		ask_handler(*state, api_services, cases[i].parameters, NULL, &response);
		json = json_of(&response);
		assert_int_equal(json_array_size(json_object_get(json, "services")),
				 cases[i].count);
	}
}

static void with_a_time_range_hosts_have_their_losses(void **state)
{
	static const struct http_field last[] = { { "last", "1h" }, {} };
	static const struct http_field wrong[] = { { "last", "soon" }, {} };
	scoped(http_response_release) struct http_response response, plain, refused;
	scoped(json_decrefp) json_t *json = NULL, *without = NULL;
	const json_t *host, *losses;

	ask_handler(*state, api_hosts, last, NULL, &response);
	json = json_of(&response);
	host = json_array_get(json_object_get(json, "hosts"), 0);
	assert_int_equal(json_number_at(host, "covered_s"), 10);
	assert_int_equal(json_integer_value(json_object_get(host, "clock_offset_ms")), -100);
	losses = json_object_get(host, "losses");
	assert_int_equal(json_number_at(losses, "ticks_lost_ring_full"), 3);
	assert_int_equal(json_number_at(losses, "frequency_lowered_s"), 4);
	ask_handler(*state, api_hosts, NULL, NULL, &plain);
	without = json_of(&plain);
	assert_null(
		json_object_get(json_array_get(json_object_get(without, "hosts"), 0), "losses"));
	ask_handler(*state, api_hosts, wrong, NULL, &refused);
	assert_error(&refused, 400, "soon");
}

static void hosts_are_listed_with_their_labels(void **state)
{
	scoped(http_response_release) struct http_response response;
	scoped(json_decrefp) json_t *json = NULL;
	const json_t *host;

	ask_handler(*state, api_hosts, NULL, NULL, &response);
	json = json_of(&response);
	host = json_array_get(json_object_get(json, "hosts"), 0);
	assert_string_equal(json_text_at(host, "name"), "web-1");
	assert_int_equal(json_number_at(host, "cpus"), 4);
	assert_int_equal(json_array_size(json_object_get(host, "ips")), 2);
	assert_string_equal(json_text_at(json_object_get(host, "labels"), "rack"), "r7");
	assert_int_equal(json_number_at(host, "last_time"), FIXTURE_SECOND);
}

static void each_tenant_has_separate_lists(void **state)
{
	struct api_fixture *fixture = *state;
	scoped(http_response_release) struct http_response services, hosts;

	memcpy(fixture->caller.tenant, "other", sizeof("other"));
	ask_handler(fixture, api_services, NULL, NULL, &services);
	assert_non_null(memmem(services.body.data, services.body.size, "\"services\":[]", 13));
	ask_handler(fixture, api_hosts, NULL, NULL, &hosts);
	assert_bytes_equal_text(&hosts.body, "{\"hosts\":[]}");
}

static void invalid_parameters_and_failures_are_errors(void **state)
{
	static const struct http_field wrong_event[] = { { "event", "x" }, {} };
	static const struct http_field wrong_time[] = { { "last", "soon" }, {} };
	struct api_fixture *fixture = *state;
	scoped(http_response_release) struct http_response event, range, services, hosts;

	ask_handler(fixture, api_services, wrong_event, NULL, &event);
	assert_error(&event, 400, "event: 'x' is no event type");
	ask_handler(fixture, api_services, wrong_time, NULL, &range);
	assert_error(&range, 400, "last: 'soon'");

	fixture->store.error = -EIO;
	ask_handler(fixture, api_services, NULL, NULL, &services);
	assert_error(&services, 500, "cannot list services");
	ask_handler(fixture, api_hosts, NULL, NULL, &hosts);
	assert_error(&hosts, 500, "cannot list hosts");
	assert_int_equal(fixture->context.metrics[API_METRIC_STORE_ERRORS], 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		API_TEST(services_are_listed_with_their_facts),
		API_TEST(services_can_be_limited_to_an_event_type),
		API_TEST(hosts_are_listed_with_their_labels),
		API_TEST(with_a_time_range_hosts_have_their_losses),
		API_TEST(each_tenant_has_separate_lists),
		API_TEST(invalid_parameters_and_failures_are_errors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
