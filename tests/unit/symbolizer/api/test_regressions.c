/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/symbolizer/api/api_fixture.h"

static void both_sides_and_their_samples_are_described(void **state)
{
	static const struct http_field parameters[] = { { "service", "shares" },
							{ "filter", "thread = 'worker'" },
							{ "base_filter", "thread = 'shares'" },
							{ "confidence", "95" },
							FIXTURE_RANGE,
							{} };
	scoped(http_response_release) struct http_response response;
	scoped(json_decrefp) json_t *json = NULL;
	const json_t *base, *after;

	ask_handler(*state, api_regressions, parameters, NULL, &response);
	json = json_of(&response);
	assert_int_equal(response.status, 200);
	base = json_object_get(json, "base");
	after = json_object_get(json, "after");
	/* The period is 10101 microseconds. */
	assert_int_equal(json_number_at(base, "total"), 20202);
	assert_int_equal(json_number_at(base, "samples"), 2);
	assert_int_equal(json_number_at(base, "blocks"), 32);
	assert_int_equal(json_number_at(after, "total"), 10101);
	assert_int_equal(json_number_at(after, "samples"), 1);
	assert_string_equal(json_text_at(base, "filter"), "thread = 'shares'");
	assert_true(json_number_value(json_object_get(json, "confidence")) == 95);
	/* So few samples are not judged. */
	assert_int_equal(json_number_at(json, "judged"), 0);
	assert_int_equal(json_array_size(json_object_get(json, "regressions")), 0);
	assert_true(json_is_array(json_object_get(json, "moved")));
	assert_true(json_is_array(json_object_get(json, "went_away")));
	assert_true(json_is_array(json_object_get(json, "improved")));
}

/* Asks with a growing limit until the answer is complete. */
static void expect_refusals(struct api_fixture *fixture, api_handler handler)
{
	static const struct http_field parameters[] = { { "service", "shares" },
							{ "filter", "thread = 'worker'" },
							{ "base_filter", "thread = 'shares'" },
							FIXTURE_RANGE,
							{} };
	struct memory_budget budget = { .limit_bytes = 1 };
	unsigned int n_refused = 0;
	int status = 0;

	/* Each table is the one that does not fit once. */
	for (; status != 200; budget.limit_bytes += 1 + budget.limit_bytes / 64) {
		scoped(http_response_release) struct http_response response;

		fixture->context.memory = &budget;
		ask_handler(fixture, handler, parameters, NULL, &response);
		fixture->context.memory = NULL;
		status = response.status;
		if (status != 200)
			assert_error(&response, 503, "memory_limit");
		n_refused += status != 200;
		assert_int_equal(budget.used_bytes, 0);
		assert_true(budget.limit_bytes < GIB);
	}
	assert_true(n_refused > 100);
}

static void a_comparison_beyond_memory_limit_is_refused_for_now(void **state)
{
	expect_refusals(*state, api_regressions);
	expect_refusals(*state, api_diff);
}

static void a_side_without_samples_is_404(void **state)
{
	static const struct http_field parameters[] = {
		{ "service", "shares" }, { "base_service", "nobody" }, FIXTURE_RANGE, {}
	};
	scoped(http_response_release) struct http_response response;

	ask_handler(*state, api_regressions, parameters, NULL, &response);
	assert_error(&response, 404, "the base: ");
}

static void the_error_names_the_invalid_parameter(void **state)
{
	static const struct {
		struct http_field parameters[4];
		const char *message;
	} cases[] = {
		{ { { "service", "shares" } }, "the base is missing: give base_since" },
		{ { { "base_last", "5m" }, { "confidence", "100" } }, "confidence: '100'" },
		{ { { "base_last", "5m" }, { "confidence", "95x" } }, "confidence: '95x'" },
		{ { { "base_last", "5m" }, { "confidence", "nan" } }, "confidence: 'nan'" },
		{ { { "base_last", "5m" }, { "limit", "0" } }, "limit: '0'" },
		{ { { "base_last", "5m" }, { "event", "mem-inuse" } }, "event: 'mem-inuse'" },
		{ { { "base_last", "5m" }, { "service", "Total" } }, "service: Total" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		expect_bad_request(*state, api_regressions, cases[i].parameters, cases[i].message);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		API_TEST(both_sides_and_their_samples_are_described),
		API_TEST(a_comparison_beyond_memory_limit_is_refused_for_now),
		API_TEST(a_side_without_samples_is_404),
		API_TEST(the_error_names_the_invalid_parameter),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
