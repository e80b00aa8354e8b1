/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/http/token_usage.h"

#include "tests/support/unit.h"

#define MAX_REQUESTS 3
#define MAX_BODIES   1000
#define QUERY_LANE   (TOKEN_LANES + HTTP_LANE_QUERY)

static const struct token_limits limits = {
	.max = { [TOKEN_REQUESTS] = MAX_REQUESTS, [TOKEN_BODIES] = MAX_BODIES, [QUERY_LANE] = 1 },
};

static int setup(void **state)
{
	return token_usage_new(&limits, (struct token_usage **)state);
}

static int teardown(void **state)
{
	*state = token_usage_free(*state);
	return 0;
}

static void requests_of_a_token_are_limited(void **state)
{
	for (unsigned int i = 0; i < MAX_REQUESTS; i++)
		assert_true(token_usage_take(*state, "a", TOKEN_REQUESTS, 1));
	assert_false(token_usage_take(*state, "a", TOKEN_REQUESTS, 1));
	assert_true(token_usage_take(*state, "b", TOKEN_REQUESTS, 1));
	token_usage_give(*state, "a", TOKEN_REQUESTS, 1);
	assert_true(token_usage_take(*state, "a", TOKEN_REQUESTS, 1));
	assert_false(token_usage_take(*state, "a", TOKEN_REQUESTS, 1));
}

static void bytes_of_a_token_are_limited(void **state)
{
	assert_false(token_usage_take(*state, "a", TOKEN_BODIES, MAX_BODIES + 1));
	assert_true(token_usage_take(*state, "a", TOKEN_BODIES, MAX_BODIES - 1));
	assert_false(token_usage_take(*state, "a", TOKEN_BODIES, 2));
	assert_true(token_usage_take(*state, "a", TOKEN_BODIES, 1));
	assert_true(token_usage_take(*state, "b", TOKEN_BODIES, MAX_BODIES));
	token_usage_give(*state, "a", TOKEN_BODIES, MAX_BODIES);
	assert_true(token_usage_take(*state, "a", TOKEN_BODIES, MAX_BODIES));
}

static void shares_are_counted_separately(void **state)
{
	assert_true(token_usage_take(*state, "a", QUERY_LANE, 1));
	assert_false(token_usage_take(*state, "a", QUERY_LANE, 1));
	assert_true(token_usage_take(*state, "b", QUERY_LANE, 1));
	assert_true(token_usage_take(*state, "a", TOKEN_REQUESTS, 1));
	token_usage_give(*state, "a", QUERY_LANE, 1);
	assert_true(token_usage_take(*state, "a", QUERY_LANE, 1));
}

static void a_share_without_a_limit_refuses_nothing(void **state)
{
	assert_true(token_usage_take(*state, "a", TOKEN_UPLOADS, UINT64_C(1) << 60));
	assert_true(token_usage_take(*state, "a", TOKEN_UPLOADS, UINT64_C(1) << 60));
}

/* Captures the log of token_usage_log() at @now_ns. */
static void log_at(struct token_usage *usage, uint64_t now_ns, char ret_text[1000])
{
	scoped_fd int before = dup(STDERR_FILENO);
	FILE *file = tmpfile();
	size_t size;

	assert_non_null(file);
	assert_true(dup2(fileno(file), STDERR_FILENO) >= 0);
	token_usage_log(usage, now_ns);
	assert_true(dup2(before, STDERR_FILENO) >= 0);
	rewind(file);
	size = fread(ret_text, 1, 999, file);
	ret_text[size] = '\0';
	(void)fclose(file);
}

static void each_limit_is_logged_with_the_token_at_most_once_a_minute(void **state)
{
	char text[1000];

	for (unsigned int i = 0; i < MAX_REQUESTS + 2; i++)
		(void)token_usage_take(*state, "many", TOKEN_REQUESTS, 1);
	for (unsigned int i = 0; i < 2; i++)
		(void)token_usage_take(*state, "slow", QUERY_LANE, 1);
	log_at(*state, NSEC_PER_SEC, text);
	assert_non_null(strstr(
		text, "refused 2 requests of tokens at their limit; the latest had token 'many', "
		      "which may have 3 requests under way (max_requests_per_token)"));
	assert_non_null(strstr(text, "token 'slow', which may have 1 requests in lane 'query'"));

	(void)token_usage_take(*state, "many", TOKEN_REQUESTS, 1);
	log_at(*state, 60 * NSEC_PER_SEC, text);
	assert_string_equal(text, "");
	log_at(*state, 61 * NSEC_PER_SEC, text);
	assert_non_null(strstr(text, "refused 1 requests"));
	assert_null(strstr(text, "'slow'"));
}

#define USAGE_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		USAGE_TEST(requests_of_a_token_are_limited),
		USAGE_TEST(bytes_of_a_token_are_limited),
		USAGE_TEST(shares_are_counted_separately),
		USAGE_TEST(a_share_without_a_limit_refuses_nothing),
		USAGE_TEST(each_limit_is_logged_with_the_token_at_most_once_a_minute),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
