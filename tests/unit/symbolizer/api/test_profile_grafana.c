/* SPDX-License-Identifier: Apache-2.0 */

/* Tests POST /v1/profile/ProfileGrafana with forms as DeepFlow's Grafana plugin sends them. */

#include "symbolizer/api/envelope.h"
#include "tests/unit/symbolizer/api/api_fixture.h"

#define RANGE   "time%3E%3D1700000000+AND+time%3C%3D1700000000"
#define ON_CPU  "profile_event_type+IN+%28%27on-cpu%27%29"
#define EBPF    "profile_language_type+IN+%28%27eBPF%27%29"
#define SERVICE "app_service+IN+%28%27shares%27%29"

/* The request of a panel: debug= is in the URL. */
#define PANEL "profile_event_type=on-cpu&sql=" SERVICE "+AND+" EBPF "+AND+" ON_CPU "+AND+" RANGE

static json_t *ask_with(struct api_fixture *fixture, const struct http_field *parameters,
			const char *form, struct http_response *response)
{
	fixture->error_style = envelope_error;
	ask_handler(fixture, api_profile_grafana, parameters, form, response);
	return json_of(response);
}

/* Returns the answer to @form, after asserting that it has this status and the four keys. */
static json_t *ask(struct api_fixture *fixture, const char *form, unsigned int status,
		   const char *opt_status)
{
	scoped(http_response_release) struct http_response response;
	json_t *json = ask_with(fixture, NULL, form, &response);

	if (response.status != status || strcmp(json_text_at(json, "OPT_STATUS"), opt_status) != 0)
		fail_msg("%s: %u %s: %s", form, response.status, json_text_at(json, "OPT_STATUS"),
			 json_text_at(json, "DESCRIPTION"));
	assert_int_equal(json_object_size(json), 4);
	assert_non_null(json_object_get(json, "debug"));
	return json;
}

static void a_panel_gets_the_levels_of_the_profile(void **state)
{
	static const struct {
		json_int_t level;
		const char *label;
		json_int_t self, total;
	} rows[] = {
		/* 3, 2 and 1 samples of 10101.01 us */
		{ 0, "root", 0, 30303 },          { 1, "[p] shares", 0, 20202 },
		{ 2, "[/opt/shares]", 0, 20202 }, { 3, "[k] do_syscall", 20202, 20202 },
		{ 1, "[t] worker", 0, 10101 },    { 2, "[/opt/shares]", 10101, 10101 },
	};
	scoped(json_decrefp) json_t *json = ask(*state, PANEL, 200, "SUCCESS");
	const json_t *values = json_object_get(json_object_get(json, "result"), "values");

	assert_string_equal(json_text_at(json, "DESCRIPTION"), "");
	assert_true(json_is_null(json_object_get(json, "debug")));
	assert_int_equal(json_array_size(values), ARRAY_SIZE(rows));
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const json_t *row = json_array_get(values, i);

		assert_int_equal(json_array_size(row), 4);
		assert_int_equal(json_integer_value(json_array_get(row, 0)), rows[i].level);
		assert_string_equal(json_string_value(json_array_get(row, 1)), rows[i].label);
		assert_int_equal(json_integer_value(json_array_get(row, 2)), rows[i].self);
		assert_int_equal(json_integer_value(json_array_get(row, 3)), rows[i].total);
	}
}

static json_int_t total_of(const json_t *json)
{
	const json_t *values = json_object_get(json_object_get(json, "result"), "values");

	return json_integer_value(json_array_get(json_array_get(values, 0), 3));
}

static void conditions_select_samples(void **state)
{
	static const struct {
		const char *form;
		json_int_t total;
	} cases[] = {
		{ "sql=" ON_CPU "+AND+" RANGE, 30303 },
		/* the event type in its own field only */
		{ "profile_event_type=on-cpu&sql=" RANGE, 30303 },
		{ "profile_event_type=on-cpu&sql=profile_event_type+LIKE%28%27on%2A%27%29"
		  "+AND+" RANGE,
		  30303 },
		{ "sql=" ON_CPU "+AND+thread+%3D+%27worker%27+AND+" RANGE, 10101 },
		{ "sql=" ON_CPU "+AND+Enum%28host%29+LIKE%28%27WEB%2A%27%29+AND+" RANGE, 30303 },
		{ "sql=" ON_CPU "+AND+%60rack%60+NOT+REGEXP+%27r8%27+AND+" RANGE, 30303 },
		{ "sql=" ON_CPU "+AND+exist%28host%29+AND+process_id+IN+%28100%29+AND+" RANGE,
		  30303 },
		{ "sql=" ON_CPU "+AND+%28tid%3E%3D101+OR+tid%3C100%29+AND+" RANGE, 10101 },
		{ "sql=" ON_CPU "+AND+app_service+IN+%28%27shares%27%2C%27heap%27%29+AND+" RANGE,
		  30303 },
		{ "sql=" ON_CPU "+AND+app_service+IN+%28%27Total%27%29+AND+" RANGE, 30303 },
		{ "sql=profile_event_type+IN+%28%27mem-alloc%27%29+AND+" RANGE, 1000 },
		/* several event types of one unit; there are no samples of the others */
		{ "sql=profile_event_type+IN+%28%27on-cpu%27%2C%27off-cpu%27%29+AND+" RANGE,
		  30303 },
		{ "sql=%28profile_event_type%3D%27off-cpu%27+OR+"
		  "profile_event_type%3D%27on-cpu%27%29"
		  "+AND+" SERVICE "+AND+" RANGE,
		  30303 },
		{ "sql=profile_event_type+IN+%28%27off-cpu%27%2C%27run-queue%27%29+AND+" RANGE, 0 },
		{ "sql=profile_event_type+IN+%28%27mem-alloc%27%2C%27hbm-alloc%27%29+AND+" RANGE,
		  1000 },
		{ "sql=profile_event_type+IN+%28%27on-cpu%27%2C%27on-fire%27%29+AND+" RANGE,
		  30303 },
		/* as a JSON object */
		{ " {\"db\": \"profile\", \"data_precision\": null, \"sql\": \"app_service IN "
		  "('shares') AND profile_event_type IN ('on-cpu', 'off-cpu') AND "
		  "time>=1700000000 AND time<=1700000000\"} ",
		  30303 },
		{ "{\"profile_event_type\": \"on-cpu\", \"sql\": \"time>=1700000000 AND "
		  "time<=1700000000\"}",
		  30303 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		scoped(json_decrefp) json_t *json = ask(*state, cases[i].form, 200, "SUCCESS");

		if (total_of(json) != cases[i].total)
			fail_msg("%s: %lld: %s", cases[i].form, (long long)total_of(json),
				 json_text_at(json, "DESCRIPTION"));
	}
}

static void an_empty_answer_has_columns_and_a_reason(void **state)
{
	static const struct {
		const char *form, *reason;
	} cases[] = {
		{ "sql=app_service+%3D+%27sharse%27+AND+" ON_CPU "+AND+" RANGE,
		  "no service 'sharse'" },
		{ "sql=" SERVICE "+AND+" ON_CPU "+AND+time%3E%3D1+AND+time%3C%3D2",
		  "no service 'shares'" },
		{ "sql=" ON_CPU "+AND+host+%3D+%27db%27+AND+" RANGE, "selects none" },
		{ "sql=" ON_CPU "+AND+profile_language_type+IN+%28%27Golang%27%29+AND+" RANGE,
		  "selects none" },
		{ "sql=profile_event_type+IN+%28%27off-cpu%27%2C%27run-queue%27"
		  "%2C%27off-cpu%27%29+AND+" RANGE,
		  "no off-cpu, run-queue samples were ever stored" },
		{ "sql=" ON_CPU "+AND+time%3E%3D2+AND+time%3C%3D1",
		  "the range of time ends before it begins" },
		{ "sql=profile_event_type+%3D+%27on-fire%27+AND+" RANGE,
		  "profile_event_type: 'on-fire' is no event type; there are on-cpu" },
		{ "sql=profile_event_type+IN+%28%27on-fire%27%2C%27x%27%29+AND+" RANGE,
		  "is no event type; there are on-cpu" },
		{ "profile_event_type=on-fire&sql=" RANGE,
		  "profile_event_type: 'on-fire' is no event type" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		scoped(json_decrefp) json_t *json = ask(*state, cases[i].form, 200, "SUCCESS");
		const json_t *result = json_object_get(json, "result");

		assert_int_equal(json_array_size(json_object_get(result, "columns")), 4);
		assert_true(json_is_null(json_object_get(result, "values")));
		if (!strstr(json_text_at(json, "DESCRIPTION"), cases[i].reason))
			fail_msg("%s: %s", cases[i].form, json_text_at(json, "DESCRIPTION"));
	}
}

static void debug_is_a_parameter_of_the_url(void **state)
{
	static const struct {
		const char *value;
		bool debug;
	} cases[] = { { "true", true }, { "1", true }, { "false", false }, { "yes", false } };

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct http_field parameters[] = { { "debug", cases[i].value }, {} };
		scoped(http_response_release) struct http_response response;
		scoped(json_decrefp) json_t *json = ask_with(*state, parameters, PANEL, &response);
		const json_t *debug = json_object_get(json, "debug");

		assert_int_equal(json_is_object(debug), cases[i].debug);
		if (cases[i].debug)
			assert_int_equal(json_number_at(debug, "total"), 30303);
		assert_string_equal(http_response_find_header(&response, "X-Hearth-Total"),
				    "30303");
	}
}

static void wrong_requests_are_refused_with_the_reason(void **state)
{
	static const struct {
		const char *form, *reason;
	} cases[] = {
		{ "", "the field sql of the body is missing" },
		{ "sql=", "the field sql of the body is missing" },
		{ "{\"sql\":7}", "the field sql of the body is missing" },
		{ "{\"sql\":\"hots = 1\"}", "sql: unknown tag 'hots'" },
		{ "{\"sql\":", "no JSON object" },
		{ "{\"sql\":\"a\\u0000\"}", "no JSON object" },
		{ "sql=%", "the body is no form" },
		{ "sql=a%00", "the body is no form" },
		{ "sql=" RANGE, "the event type is missing" },
		{ "sql=profile_event_type+IN+%28%27on-cpu%27%2C%27mem-alloc%27%29+AND+" RANGE,
		  "values of 'on-cpu' and 'mem-alloc' cannot be added" },
		{ "sql=" ON_CPU, "the range of time is missing" },
		{ "sql=" ON_CPU "+AND+time%3E%3D1700000000", "the range of time is missing" },
		{ "sql=" ON_CPU "+OR+" RANGE, "sql: time is compared by" },
		{ "sql=hots+%3D+%27a%27", "sql: unknown tag 'hots' at character 1 (known: app_" },
		{ "sql=host+%3D", "sql: expected a text in quotes or a number, but the filter" },
		{ "sql=host+%3D+%27a", "sql: no closing ' at character 8" },
		{ "sql=1%3D1+UNION+SELECT+1", "sql: expected the name of a tag" },
		{ "sql=" ON_CPU "+AND+" RANGE "%3B+DROP+TABLE+samples", "unexpected ';'" },
		{ "sql=" ON_CPU "+AND+" RANGE "+LIMIT+1", "expected AND, OR or the end" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		scoped(json_decrefp) json_t *json =
			ask(*state, cases[i].form, 400, "INVALID_POST_DATA");

		assert_true(json_is_null(json_object_get(json, "result")));
		if (!strstr(json_text_at(json, "DESCRIPTION"), cases[i].reason))
			fail_msg("%s: %s", cases[i].form, json_text_at(json, "DESCRIPTION"));
	}
}

/* Adds a type of another unit after more types than the server looks up. */
static void the_number_of_event_types_is_limited(void **state)
{
	scoped(bytes_release) struct bytes form = BYTES_INIT(MIB);
	scoped(json_decrefp) json_t *json = NULL;

	assert_ok(bytes_append_text(&form, "sql=" RANGE "+AND+profile_event_type+IN+%28"));
	for (unsigned int i = 0; i < 64; i++)
		assert_ok(bytes_append_text(&form, "%27on-cpu%27%2C"));
	assert_ok(bytes_append_text(&form, "%27mem-alloc%27%29"));
	assert_ok(bytes_append_byte(&form, 0));
	json = ask(*state, (const char *)form.data, 400, "INVALID_POST_DATA");
	assert_string_equal(json_text_at(json, "DESCRIPTION"),
			    "profile_event_type: 65 values, but at most 64 are possible");
}

static void nesting_and_length_are_limited(void **state)
{
	static const struct {
		const char *unit, *reason;
		size_t count;
	} cases[] = {
		{ "%28", "nested parentheses", 3000 },
		{ "NOT+", "nested parentheses", 3000 },
		{ "host%3D1+AND+", "longer than 65536 bytes", 8000 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		scoped(bytes_release) struct bytes form = BYTES_INIT(MIB);
		scoped(json_decrefp) json_t *json = NULL;

		assert_ok(bytes_append_text(&form, "sql="));
		for (size_t k = 0; k < cases[i].count; k++)
			assert_ok(bytes_append_text(&form, cases[i].unit));
		assert_ok(bytes_append_byte(&form, 0));
		json = ask(*state, (const char *)form.data, 400, "INVALID_POST_DATA");
		assert_non_null(strstr(json_text_at(json, "DESCRIPTION"), cases[i].reason));
	}
}

static void a_store_that_fails_is_no_mistake_of_the_client(void **state)
{
	struct api_fixture *fixture = *state;
	scoped(json_decrefp) json_t *closed = NULL;
	scoped(json_decrefp) json_t *failed = NULL;

	fixture->store.open_error = -EIO;
	closed = ask(fixture, PANEL, 500, "FAIL");
	assert_non_null(strstr(json_text_at(closed, "DESCRIPTION"), "the sample store failed"));
	fixture->store.open_error = 0;
	fixture->store.error = -EIO;
	failed = ask(fixture, PANEL, 500, "FAIL");
	assert_non_null(strstr(json_text_at(failed, "DESCRIPTION"), "the sample store failed"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		API_TEST(a_panel_gets_the_levels_of_the_profile),
		API_TEST(conditions_select_samples),
		API_TEST(an_empty_answer_has_columns_and_a_reason),
		API_TEST(debug_is_a_parameter_of_the_url),
		API_TEST(wrong_requests_are_refused_with_the_reason),
		API_TEST(the_number_of_event_types_is_limited),
		API_TEST(nesting_and_length_are_limited),
		API_TEST(a_store_that_fails_is_no_mistake_of_the_client),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
