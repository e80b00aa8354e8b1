/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Handlers read the sample store through one view per request. The fake store has other IDs in each
 * view, and fails the test if a view gets an ID of another one.
 */

#include "tests/unit/symbolizer/api/api_fixture.h"

#define TRACING(event)                                                                             \
	"{\"app_service\":\"shares\",\"profile_event_type\":\"" event "\","                        \
	"\"profile_language_type\":\"eBPF\",\"time_start\":1700000000,\"time_end\":1700000001}"

static const struct {
	api_handler handler;
	struct http_field parameters[5];
	const char *body;
} requests[] = {
	{ api_flame,
	  { FIXTURE_RANGE, { "service", "shares" }, { "filter", "rack = 'r7'" } },
	  NULL },
	{ api_flame, { FIXTURE_RANGE, { "service", "shares" }, { "event", "page-faults" } }, NULL },
	{ api_top, { FIXTURE_RANGE, { "service", "shares" } }, NULL },
	{ api_processes, { FIXTURE_RANGE }, NULL },
	{ api_groups, { FIXTURE_RANGE, { "group_by", "host" } }, NULL },
	{ api_unresolved, { FIXTURE_RANGE }, NULL },
	{ api_services, { FIXTURE_RANGE, { "event", "page-faults" } }, NULL },
	{ api_hosts, { FIXTURE_RANGE }, NULL },
	{ api_fleet, { FIXTURE_RANGE }, NULL },
	{ api_profile_tracing, {}, TRACING("on-cpu") },
	{ api_profile_tracing, {}, TRACING("page-faults") },
};

static void a_request_has_one_view_and_keeps_no_ids_for_the_next(void **state)
{
	struct api_fixture *fixture = *state;
	uint64_t n_views = 0;

	for (int round = 0; round < 2; round++)
		for (size_t i = 0; i < ARRAY_SIZE(requests); i++) {
			scoped(http_response_release) struct http_response response;

			ask_handler(fixture, requests[i].handler, requests[i].parameters,
				    requests[i].body, &response);
			if (response.status != 200)
				fail_msg("request %zu: %u", i, response.status);
			if (fixture->store.n_views != ++n_views)
				fail_msg("request %zu: %d views", i,
					 (int)(fixture->store.n_views - n_views + 1));
		}
}

static void a_view_that_cannot_be_opened_fails_the_request(void **state)
{
	struct api_fixture *fixture = *state;

	fixture->store.open_error = -EIO;
	for (size_t i = 0; i < ARRAY_SIZE(requests); i++) {
		scoped(http_response_release) struct http_response response;

		ask_handler(fixture, requests[i].handler, requests[i].parameters, requests[i].body,
			    &response);
		if (response.status != 500)
			fail_msg("request %zu: %u", i, response.status);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		API_TEST(a_request_has_one_view_and_keeps_no_ids_for_the_next),
		API_TEST(a_view_that_cannot_be_opened_fails_the_request),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
