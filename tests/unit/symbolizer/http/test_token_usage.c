/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/http/token_usage.h"

#include "tests/support/unit.h"

static const struct token_limits limits = {
	.max_requests = 3,
	.max_in_lane = { [HTTP_LANE_QUERY] = 1 },
};

static int setup(void **state)
{
	return token_usage_new(&limits, &system_clock, (struct token_usage **)state);
}

static int teardown(void **state)
{
	*state = token_usage_free(*state);
	return 0;
}

static void a_token_may_have_so_many_requests(void **state)
{
	for (unsigned int i = 0; i < limits.max_requests; i++)
		assert_true(token_usage_enter(*state, "a"));
	assert_false(token_usage_enter(*state, "a"));
	assert_true(token_usage_enter(*state, "b"));
	token_usage_leave(*state, "a");
	assert_true(token_usage_enter(*state, "a"));
	assert_false(token_usage_enter(*state, "a"));
}

static void a_token_may_have_its_share_of_a_lane(void **state)
{
	static const char *const names[] = { "a", "a", "b" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		assert_true(token_usage_enter(*state, names[i]));
	assert_true(token_usage_enter_lane(*state, "a", HTTP_LANE_QUERY));
	assert_false(token_usage_enter_lane(*state, "a", HTTP_LANE_QUERY));
	assert_true(token_usage_enter_lane(*state, "b", HTTP_LANE_QUERY));
	token_usage_leave_lane(*state, "a", HTTP_LANE_QUERY);
	assert_true(token_usage_enter_lane(*state, "a", HTTP_LANE_QUERY));
}

static void a_lane_without_a_bound_takes_all_requests(void **state)
{
	for (unsigned int i = 0; i < limits.max_requests; i++) {
		assert_true(token_usage_enter(*state, "a"));
		assert_true(token_usage_enter_lane(*state, "a", HTTP_LANE_SHORT));
	}
}

#define USAGE_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		USAGE_TEST(a_token_may_have_so_many_requests),
		USAGE_TEST(a_token_may_have_its_share_of_a_lane),
		USAGE_TEST(a_lane_without_a_bound_takes_all_requests),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
