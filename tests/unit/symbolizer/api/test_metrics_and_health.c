/* SPDX-License-Identifier: Apache-2.0 */
#include <semaphore.h>

#include "tests/unit/symbolizer/api/api_fixture.h"

static void the_process_is_healthy_while_it_answers(void **state)
{
	struct api_fixture *fixture = *state;
	scoped(http_response_release) struct http_response response;

	fixture->store.check_error = -ENOSPC;
	ask_handler(fixture, api_healthz, NULL, NULL, &response);
	assert_int_equal(response.status, 200);
	assert_bytes_equal_text(&response.body, "{\"status\":\"ok\"}");
}

static void the_server_is_ready_while_samples_can_be_stored(void **state)
{
	struct api_fixture *fixture = *state;
	scoped(http_response_release) struct http_response ready, full;

	ask_handler(fixture, api_readyz, NULL, NULL, &ready);
	assert_int_equal(ready.status, 200);
	fixture->store.check_error = -ENOSPC;
	ask_handler(fixture, api_readyz, NULL, NULL, &full);
	assert_error(&full, 503, "No space left on device");
}

static sem_t disk_answers;

static int check_when_the_disk_answers(struct store *store)
{
	(void)store;
	while (sem_wait(&disk_answers) < 0)
		;
	return 0;
}

static void the_server_is_alive_but_not_ready_while_the_disk_hangs(void **state)
{
	struct api_fixture *fixture = *state;
	scoped(http_response_release) struct http_response healthy, ready, metrics;
	struct store_operations operations = fake_operations;

	assert_int_equal(sem_init(&disk_answers, 0, 0), 0);
	operations.check = check_when_the_disk_answers;
	fixture->store.store.operations = &operations;
	ask_handler(fixture, api_readyz, NULL, NULL, &ready);
	assert_error(&ready, 503, "the disk of the data folder does not answer");
	ask_handler(fixture, api_healthz, NULL, NULL, &healthy);
	assert_int_equal(healthy.status, 200);
	ask_handler(fixture, api_metrics, NULL, NULL, &metrics);
	assert_int_equal(metrics.status, 200);

	assert_int_equal(sem_post(&disk_answers), 0);
	/* Stops the threads that read, before the operations go out of scope. */
	api_stop_readings(&fixture->context);
}

static unsigned int seven_connections(void *arg)
{
	(void)arg;
	return 7;
}

static void metrics_are_in_the_text_format_of_prometheus(void **state)
{
	static const char *const lines[] = {
		"# TYPE hearth_symbolizer_ingest_batches_total counter\n",
		"hearth_symbolizer_ingest_batches_total{outcome=\"stored\"} 3\n",
		"hearth_symbolizer_ingest_batches_total{outcome=\"bad\"} 0\n",
		"hearth_symbolizer_store_rows 4\n",
		"hearth_symbolizer_store_disk_bytes 12345\n",
		"hearth_symbolizer_store_series_refused_total 7\n",
		"hearth_symbolizer_http_open_connections 7\n",
		"http_requests_total{route=\"/v1/ingest\",method=\"POST\",class=\"2xx\"} 1\n",
	};
	struct api_fixture *fixture = *state;
	scoped(route_metrics_freep) struct route_metrics *route_metrics = NULL;
	scoped(http_response_release) struct http_response response;
	const struct http_route *routes;
	const char *text;
	size_t count;

	routes = api_routes(&count);
	assert_ok(route_metrics_new(routes, count, &route_metrics));
	for (size_t i = 0; i < count; i++)
		if (strcmp(routes[i].pattern, "/v1/ingest") == 0)
			route_metrics_add(route_metrics, &routes[i], 200, 1);
	fixture->context.route_metrics = route_metrics;
	fixture->context.connections = seven_connections;
	api_count(&fixture->context, API_METRIC_INGEST_STORED, 3);

	ask_handler(fixture, api_metrics, NULL, NULL, &response);
	assert_int_equal(response.status, 200);
	assert_string_equal(response.content_type, "text/plain; version=0.0.4; charset=utf-8");
	assert_ok(bytes_append_byte(&response.body, '\0'));
	text = (const char *)response.body.data;
	for (size_t i = 0; i < ARRAY_SIZE(lines); i++)
		if (!strstr(text, lines[i]))
			fail_msg("no '%s' in:\n%s", lines[i], text);
	assert_null(strstr(text, "resident_memory_bytes 0\n"));
}

static void batches_lists_and_health_checks_have_other_lanes_than_queries_and_files(void **state)
{
	static const struct {
		enum http_method method;
		const char *path;
		enum http_lane lane;
	} cases[] = {
		{ HTTP_GET, "/healthz", HTTP_LANE_HEALTH },
		{ HTTP_GET, "/readyz", HTTP_LANE_STATUS },
		{ HTTP_POST, "/v1/ingest", HTTP_LANE_INGEST },
		{ HTTP_GET, "/metrics", HTTP_LANE_STATUS },
		{ HTTP_GET, "/v1/services", HTTP_LANE_LISTS },
		{ HTTP_GET, "/v1/hosts", HTTP_LANE_LISTS },
		{ HTTP_GET, "/v1/debuginfo/00112233", HTTP_LANE_LISTS },
		{ HTTP_POST, "/v1/profile/ProfileTracing", HTTP_LANE_QUERY },
		{ HTTP_GET, "/v1/flame", HTTP_LANE_QUERY },
		{ HTTP_POST, "/v1/symbolize", HTTP_LANE_QUERY },
		{ HTTP_PUT, "/v1/debuginfo/00112233", HTTP_LANE_FILES },
		{ HTTP_PUT, "/v1/debuginfo/00112233/uploads/0011", HTTP_LANE_FILES },
		{ HTTP_GET, "/buildid/00112233/debuginfo", HTTP_LANE_DEBUGINFOD },
		{ HTTP_GET, "/buildid/00112233/section/.text", HTTP_LANE_DEBUGINFOD },
		{ HTTP_GET, "/buildid/00112233/source/usr/src/a.c", HTTP_LANE_DEBUGINFOD },
	};
	const struct http_route *routes;
	size_t count;

	(void)state;
	routes = api_routes(&count);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char argument[ROUTER_ARGUMENT_SIZE];
		const struct http_route *route;

		assert_int_equal(router_find(routes, count, cases[i].method, cases[i].path, &route,
					     argument),
				 ROUTER_FOUND);
		assert_int_equal(route->lane, cases[i].lane);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			batches_lists_and_health_checks_have_other_lanes_than_queries_and_files),
		API_TEST(the_process_is_healthy_while_it_answers),
		API_TEST(the_server_is_ready_while_samples_can_be_stored),
		API_TEST(the_server_is_alive_but_not_ready_while_the_disk_hangs),
		API_TEST(metrics_are_in_the_text_format_of_prometheus),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
