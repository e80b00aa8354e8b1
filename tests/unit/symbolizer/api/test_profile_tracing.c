/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Tests the contract of POST /v1/profile/ProfileTracing, from the bytes of the request to the bytes
 * of the answer.
 */

#include "symbolizer/api/envelope.h"
#include "symbolizer/api/answer.h"
#include "tests/unit/symbolizer/api/api_fixture.h"

#define QUESTION(more)                                                                             \
	"{\"app_service\":\"shares\",\"profile_event_type\":\"on-cpu\","                           \
	"\"profile_language_type\":\"eBPF\",\"time_start\":1700000000,\"time_end\":"               \
	"1700000000" more "}"

static void ask(struct api_fixture *fixture, const char *body, struct http_response *response)
{
	fixture->error_style = envelope_error;
	ask_handler(fixture, api_profile_tracing, NULL, body, response);
}

/* Asserts that the answer has exactly the four keys, in order. */
static json_t *envelope_of(const struct http_response *response, unsigned int status,
			   const char *opt_status)
{
	static const char *const keys[] = { "OPT_STATUS", "DESCRIPTION", "result", "debug" };
	json_t *json = json_of(response);
	const char *key;
	json_t *value;
	size_t n = 0;

	if (response->status != status || strcmp(json_text_at(json, "OPT_STATUS"), opt_status) != 0)
		fail_msg("%u %s: %s", response->status, json_text_at(json, "OPT_STATUS"),
			 json_text_at(json, "DESCRIPTION"));
	assert_string_equal(response->content_type, "application/json");
	assert_int_equal(json_object_size(json), ARRAY_SIZE(keys));
	json_object_foreach(json, key, value) assert_string_equal(key, keys[n++]);
	return json;
}

static void assert_refused(struct api_fixture *fixture, const char *body, unsigned int status,
			   const char *opt_status, const char *description)
{
	scoped(http_response_release) struct http_response response;
	scoped(json_decrefp) json_t *json = NULL;

	ask(fixture, body, &response);
	json = envelope_of(&response, status, opt_status);
	assert_true(json_is_null(json_object_get(json, "result")));
	assert_true(json_is_null(json_object_get(json, "debug")));
	if (!strstr(json_text_at(json, "DESCRIPTION"), description))
		fail_msg("%s: %s", body, json_text_at(json, "DESCRIPTION"));
}

static void a_profile_is_a_list_of_nodes_depth_first(void **state)
{
	static const struct {
		const char *label, *parent_label;
		json_int_t self, total;
	} nodes[] = {
		/* 3, 2 and 1 samples of 10101.01 us, each sum rounded once */
		{ "shares", NULL, 0, 30303 },
		{ "[p] shares", "shares", 0, 20202 },
		{ "[/opt/shares]", "[p] shares", 0, 20202 },
		{ "[k] do_syscall", "[/opt/shares]", 20202, 20202 },
		{ "[t] worker", "shares", 0, 10101 },
	};
	scoped(http_response_release) struct http_response response;
	scoped(json_decrefp) json_t *json = NULL;
	const json_t *result;

	ask(*state, QUESTION(), &response);
	json = envelope_of(&response, 200, "SUCCESS");
	assert_string_equal(json_text_at(json, "DESCRIPTION"), "");
	assert_true(json_is_null(json_object_get(json, "debug")));

	result = json_object_get(json, "result");
	assert_int_equal(json_array_size(result), ARRAY_SIZE(nodes) + 1);
	for (size_t i = 0; i < ARRAY_SIZE(nodes); i++) {
		const json_t *node = json_array_get(result, i);

		assert_int_equal(json_object_size(node), 5);
		assert_string_equal(json_text_at(node, "profile_location_str"), nodes[i].label);
		assert_int_equal(json_number_at(node, "self_value"), nodes[i].self);
		assert_int_equal(json_number_at(node, "total_value"), nodes[i].total);
	}
	/* DeepFlow's numbering: the root is "" and its parent is "-1"; other nodes are
	 * identified by their path. */
	assert_string_equal(json_text_at(json_array_get(result, 0), "node_id"), "");
	assert_string_equal(json_text_at(json_array_get(result, 0), "parent_node_id"), "-1");
	assert_string_equal(json_text_at(json_array_get(result, 1), "parent_node_id"), "");
	assert_string_equal(json_text_at(json_array_get(result, 2), "parent_node_id"),
			    json_text_at(json_array_get(result, 1), "node_id"));
}

static void the_columns_hold_the_same_profile(void **state)
{
	scoped(http_response_release) struct http_response response;
	scoped(json_decrefp) json_t *json = NULL;
	const json_t *result, *rows;

	ask(*state, QUESTION(",\"format\":\"columns\""), &response);
	json = envelope_of(&response, 200, "SUCCESS");
	result = json_object_get(json, "result");
	assert_int_equal(json_object_size(result), 4);
	assert_string_equal(
		json_string_value(json_array_get(json_object_get(result, "functions"), 0)),
		"shares");
	assert_string_equal(
		json_string_value(json_array_get(json_object_get(result, "function_types"), 0)),
		"P");
	rows = json_object_get(json_object_get(result, "node_values"), "values");
	assert_int_equal(json_array_size(rows), 6);
	assert_int_equal(json_integer_value(json_array_get(json_array_get(rows, 0), 3)), 30303);
}

static void headers_always_have_the_figures(void **state)
{
	static const struct {
		const char *name, *value;
	} headers[] = {
		{ "X-Hearth-Series", "2" },
		{ "X-Hearth-Rows", "3" },
		{ "X-Hearth-Stacks", "2" },
		{ "X-Hearth-Nodes", "6" },
		{ "X-Hearth-Nodes-Pruned", "0" },
		{ "X-Hearth-Total", "30303" },
		{ "X-Hearth-Unsymbolized", "10101" },
		{ "X-Hearth-Unsymbolized-No-Debuginfo", "10101" },
		{ "X-Hearth-Cut", "0" },
		{ "X-Hearth-Samples", "8800" },
		{ "X-Hearth-Ticks-Expected", "3960" },
		{ "X-Hearth-Lost-Ring-Full", "3" },
		{ "X-Hearth-Lost-Other", "9" },
		{ "X-Hearth-Lost-Waits", "0" },
		{ "X-Hearth-Stacks-Cut", "14" },
		{ "X-Hearth-Batches-Missing", "0" },
		{ "X-Hearth-Throttled-S", "4" },
		{ "X-Hearth-Gap-S", "0" },
	};
	scoped(http_response_release) struct http_response response, refused;

	ask(*state, QUESTION(), &response);
	for (size_t i = 0; i < ARRAY_SIZE(headers); i++) {
		const char *value = http_response_find_header(&response, headers[i].name);

		if (!value || strcmp(value, headers[i].value) != 0)
			fail_msg("%s: %s instead of %s", headers[i].name, value, headers[i].value);
	}
	ask(*state, "nonsense", &refused);
	assert_string_equal(http_response_find_header(&refused, "X-Hearth-Rows"), "0");
}

static void with_debug_the_body_has_the_figures_too(void **state)
{
	scoped(http_response_release) struct http_response response;
	scoped(json_decrefp) json_t *json = NULL;
	const json_t *debug, *losses;

	ask(*state, QUESTION(",\"debug\":true"), &response);
	json = envelope_of(&response, 200, "SUCCESS");
	debug = json_object_get(json, "debug");
	assert_int_equal(json_number_at(debug, "series"), 2);
	assert_int_equal(json_number_at(debug, "rows"), 3);
	assert_int_equal(json_number_at(debug, "total"), 30303);
	assert_int_equal(json_number_at(debug, "unsymbolized"), 10101);
	assert_string_equal(json_text_at(debug, "unit"), "microseconds");
	losses = json_object_get(debug, "losses");
	assert_int_equal(json_number_at(losses, "hosts"), 1);
	assert_int_equal(json_number_at(losses, "counted_s"), 10);
	assert_int_equal(json_number_at(losses, "ticks_sampled"), 8800);
	assert_int_equal(json_number_at(losses, "ticks_lost_ring_full"), 3);
	assert_int_equal(json_number_at(losses, "ticks_missed"), 5);
	assert_int_equal(json_array_size(json_object_get(losses, "gaps")), 0);
}

static void the_description_reports_lost_samples(void **state)
{
	struct api_fixture *fixture = *state;
	scoped(http_response_release) struct http_response response;
	scoped(json_decrefp) json_t *json = NULL;

	/* 303 of 8800 + 303 + 9 */
	fixture->store.n_lost = 300;
	ask(fixture, QUESTION(), &response);
	json = envelope_of(&response, 200, "SUCCESS");
	assert_string_equal(json_text_at(json, "DESCRIPTION"),
			    "3.3 % of the samples of host 'web-1' were lost in the ring buffer "
			    "between 2023-11-14T22:13:20Z and 2023-11-14T22:13:30Z");
	assert_string_equal(http_response_find_header(&response, "X-Hearth-Lost-Ring-Full"), "303");
}

static void memory_is_in_bytes(void **state)
{
	scoped(http_response_release) struct http_response response;
	scoped(json_decrefp) json_t *json = NULL;

	ask(*state,
	    "{\"app_service\":\"heap\",\"profile_event_type\":\"mem-alloc\",\"profile_language_"
	    "type\":\"eBPF\","
	    "\"time_start\":1700000000,\"time_end\":1700000000,\"debug\":true}",
	    &response);
	json = envelope_of(&response, 200, "SUCCESS");
	assert_int_equal(
		json_number_at(json_array_get(json_object_get(json, "result"), 0), "total_value"),
		1000);
	assert_string_equal(json_text_at(json_object_get(json, "debug"), "unit"), "bytes");
}

static void the_range_includes_its_first_and_last_second(void **state)
{
	static const struct {
		const char *times;
		json_int_t total; /* -1: no samples */
	} cases[] = {
		{ "\"time_start\":1700000000,\"time_end\":1700000000", 30303 },
		{ "\"time_start\":1699999999,\"time_end\":1700000001", 30303 },
		{ "\"time_start\":1699999990,\"time_end\":1699999999", -1 },
		{ "\"time_start\":1700000001,\"time_end\":1700000009", -1 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		scoped(http_response_release) struct http_response response;
		scoped(json_decrefp) json_t *json = NULL;
		char body[512];

		(void)snprintf(body, sizeof(body),
			       "{\"app_service\":\"shares\",\"profile_event_type\":\"on-cpu\","
			       "\"profile_language_type\":\"eBPF\",%s}",
			       cases[i].times);
		ask(*state, body, &response);
		json = envelope_of(&response, 200, "SUCCESS");
		if (cases[i].total < 0) {
			assert_true(json_is_null(json_object_get(json, "result")));
			assert_string_not_equal(json_text_at(json, "DESCRIPTION"), "");
		} else {
			assert_int_equal(
				json_number_at(json_array_get(json_object_get(json, "result"), 0),
					       "total_value"),
				cases[i].total);
		}
	}
}

static void an_empty_result_is_a_success_with_the_reason(void **state)
{
	scoped(http_response_release) struct http_response response;
	scoped(json_decrefp) json_t *json = NULL;

	ask(*state,
	    "{\"app_service\":\"nobody\",\"profile_event_type\":\"on-cpu\",\"profile_language_"
	    "type\":\"eBPF\","
	    "\"time_start\":1700000000,\"time_end\":1700000000,\"debug\":true}",
	    &response);
	json = envelope_of(&response, 200, "SUCCESS");
	assert_true(json_is_null(json_object_get(json, "result")));
	assert_non_null(strstr(json_text_at(json, "DESCRIPTION"), "nobody"));
	assert_true(json_is_object(json_object_get(json, "debug")));
}

static void another_tenant_has_no_data(void **state)
{
	struct api_fixture *fixture = *state;
	scoped(http_response_release) struct http_response response;
	scoped(json_decrefp) json_t *json = NULL;

	memcpy(fixture->caller.tenant, "other", sizeof("other"));
	ask(fixture, QUESTION(), &response);
	json = envelope_of(&response, 200, "SUCCESS");
	assert_true(json_is_null(json_object_get(json, "result")));
}

static void the_description_reports_pruned_nodes(void **state)
{
	scoped(http_response_release) struct http_response response;
	scoped(json_decrefp) json_t *json = NULL;

	ask(*state, QUESTION(",\"max_nodes\":3"), &response);
	json = envelope_of(&response, 200, "SUCCESS");
	assert_int_equal(json_array_size(json_object_get(json, "result")), 3);
	assert_string_equal(json_text_at(json, "DESCRIPTION"),
			    "3 nodes with the smallest totals were left out to keep max_nodes 3");
	assert_string_equal(http_response_find_header(&response, "X-Hearth-Nodes-Pruned"), "3");
}

static void the_description_reports_losses_with_the_reason(void **state)
{
	static const struct {
		struct profile_stats stats;
		uint32_t max_nodes;
		const char *text;
	} cases[] = {
		{ {}, 0, "" },
		{ { .n_nodes_pruned = 3 },
		  5,
		  "3 nodes with the smallest totals were left out to keep max_nodes 5" },
		{ { .n_stacks_shortened = 7 },
		  0,
		  "7 stacks are shortened because a tree has at most 8388608 nodes: choose a "
		  "shorter time, a service or "
		  "a tag_filter" },
		{ { .n_nodes_pruned = 3, .n_stacks_shortened = 7 },
		  5,
		  "3 nodes with the smallest totals were left out to keep max_nodes 5; 7 stacks "
		  "are shortened because a "
		  "tree has at most 8388608 nodes: choose a shorter time, a service or a "
		  "tag_filter" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char text[PROFILE_MESSAGE_SIZE] = "";

		answer_describe_loss(&cases[i].stats, cases[i].max_nodes, text);
		assert_string_equal(text, cases[i].text);
	}
}

static void invalid_input_is_an_error_of_the_client(void **state)
{
	static const struct {
		const char *body, *description;
	} cases[] = {
		{ "", "empty" },
		{ "{\"app_service\":", "not JSON" },
		{ "{}", "profile_event_type, profile_language_type, time_start, time_end" },
		{ QUESTION(",\"tag_filter\":\"host =\""), "tag_filter" },
		{ QUESTION(",\"tag_filter\":\"no_such_tag = 1\""), "no_such_tag" },
		{ QUESTION(",\"group_by\":\"no_such_tag\""), "no_such_tag" },
		{ QUESTION(",\"format\":\"\\u003cxml>\""), "'<xml>'" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_refused(*state, cases[i].body, 400, "INVALID_POST_DATA",
			       cases[i].description);
}

static void requests_that_no_sample_can_meet_get_an_empty_profile(void **state)
{
	static const struct {
		const char *body, *description;
	} cases[] = {
		{ QUESTION(",\"profile_event_type\":\"on-fire\""),
		  "profile_event_type: 'on-fire' is no event type; there are on-cpu, off-cpu, "
		  "on-gpu, mem-alloc, mem-inuse, hbm-alloc, hbm-inuse, rdma" },
		{ QUESTION(",\"profile_event_type\":\"ON-CPU\",\"debug\":true"),
		  "profile_event_type: 'ON-CPU' is no event type" },
		{ QUESTION(",\"profile_language_type\":\"Golang\",\"debug\":true"),
		  "profile_language_type: 'Golang' is not collected, only eBPF is" },
		{ QUESTION(",\"time_end\":1"), "time_end: 1 is before time_start" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		scoped(http_response_release) struct http_response response;
		scoped(json_decrefp) json_t *json = NULL;

		ask(*state, cases[i].body, &response);
		json = envelope_of(&response, 200, "SUCCESS");
		assert_true(json_is_null(json_object_get(json, "result")));
		assert_non_null(strstr(json_text_at(json, "DESCRIPTION"), cases[i].description));
		assert_string_equal(http_response_find_header(&response, "X-Hearth-Total"), "0");
		assert_int_equal(json_is_object(json_object_get(json, "debug")),
				 strstr(cases[i].body, "debug") != NULL);
	}
}

static void empty_columns_have_all_keys(void **state)
{
	static const char *const tables[] = { "function_values", "node_values" };
	scoped(http_response_release) struct http_response response;
	scoped(json_decrefp) json_t *json = NULL;
	const json_t *result;

	ask(*state, QUESTION(",\"format\":\"columns\",\"app_service\":\"sharse\""), &response);
	json = envelope_of(&response, 200, "SUCCESS");
	result = json_object_get(json, "result");
	assert_int_equal(json_object_size(result), 4);
	assert_true(json_is_null(json_object_get(result, "functions")));
	assert_true(json_is_null(json_object_get(result, "function_types")));
	for (size_t i = 0; i < ARRAY_SIZE(tables); i++) {
		const json_t *table = json_object_get(result, tables[i]);

		assert_true(json_is_null(json_object_get(table, "columns")));
		assert_true(json_is_null(json_object_get(table, "values")));
	}
}

static void a_failing_store_is_not_an_error_of_the_client(void **state)
{
	struct api_fixture *fixture = *state;

	fixture->store.error = -EIO;
	assert_refused(fixture, QUESTION(), 500, "FAIL", "Input/output error");
	assert_int_equal(fixture->context.metrics[API_METRIC_STORE_ERRORS], 1);
	assert_int_equal(fixture->context.metrics[API_METRIC_QUERIES_FAILED], 1);
	fixture->store.error = -ENOMEM;
	assert_refused(fixture, QUESTION(), 500, "FAIL", "choose a shorter time");
}

static void queries_are_counted(void **state)
{
	struct api_fixture *fixture = *state;
	scoped(http_response_release) struct http_response response;

	ask(fixture, QUESTION(), &response);
	assert_int_equal(fixture->context.metrics[API_METRIC_QUERIES_OK], 1);
	assert_int_equal(fixture->context.metrics[API_METRIC_QUERY_ROWS], 3);
	assert_int_equal(fixture->context.metrics[API_METRIC_QUERY_VALUE], 3 * FIXTURE_PERIOD_NS);
	assert_int_equal(fixture->context.metrics[API_METRIC_QUERY_UNSYMBOLIZED],
			 FIXTURE_PERIOD_NS);
}

static void only_the_default_organization_is_valid(void **state)
{
	static const struct {
		const char *organization;
		unsigned int status;
	} cases[] = { { "1", 200 },  { "", 200 },   { "2", 400 }, { "0", 400 },
		      { "01", 400 }, { "1 ", 400 }, { "x", 400 } };
	struct api_fixture *fixture = *state;
	static const char body[] = QUESTION();

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct http_field header = { "x-org-id", cases[i].organization };
		struct http_request request = {
			.path = "/v1/profile/ProfileTracing",
			.argument = "",
			.headers = &header,
			.n_headers = 1,
			.caller = &fixture->caller,
			.body = { .data = (const uint8_t *)body, .size = strlen(body) },
		};
		scoped(http_response_release) struct http_response response;
		scoped(json_decrefp) json_t *json = NULL;
		bool valid = cases[i].status == 200;

		http_response_init(&response);
		response.error_style = envelope_error;
		api_profile_tracing(&fixture->context, &request, &response);
		json = envelope_of(&response, cases[i].status,
				   valid ? "SUCCESS" : "INVALID_POST_DATA");
		assert_string_equal(
			json_text_at(json, "DESCRIPTION"),
			valid ? "" : "X-Org-Id: only 1 is valid: the token gives the tenant");
		assert_int_equal(json_array_size(json_object_get(json, "result")), valid ? 6 : 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		API_TEST(a_profile_is_a_list_of_nodes_depth_first),
		API_TEST(the_columns_hold_the_same_profile),
		API_TEST(headers_always_have_the_figures),
		API_TEST(with_debug_the_body_has_the_figures_too),
		API_TEST(the_description_reports_lost_samples),
		API_TEST(memory_is_in_bytes),
		API_TEST(the_range_includes_its_first_and_last_second),
		API_TEST(an_empty_result_is_a_success_with_the_reason),
		API_TEST(another_tenant_has_no_data),
		API_TEST(the_description_reports_pruned_nodes),
		cmocka_unit_test(the_description_reports_losses_with_the_reason),
		API_TEST(invalid_input_is_an_error_of_the_client),
		API_TEST(requests_that_no_sample_can_meet_get_an_empty_profile),
		API_TEST(empty_columns_have_all_keys),
		API_TEST(a_failing_store_is_not_an_error_of_the_client),
		API_TEST(queries_are_counted),
		API_TEST(only_the_default_organization_is_valid),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
