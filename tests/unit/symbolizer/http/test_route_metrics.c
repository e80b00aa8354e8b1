/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/http/route_metrics.h"

#include "tests/support/unit.h"

static void requests_are_counted_by_route_and_class(void **state)
{
	static const struct http_route routes[] = {
		{ .method = HTTP_GET, .pattern = "/a" },
		{ .method = HTTP_POST, .pattern = "/b/*" },
	};
	static const char *const lines[] = {
		"# TYPE p_http_requests_total counter\n",
		"p_http_requests_total{route=\"/a\",method=\"GET\",class=\"2xx\"} 2\n",
		"p_http_requests_total{route=\"/a\",method=\"GET\",class=\"3xx\"} 1\n",
		"p_http_requests_total{route=\"/b/*\",method=\"POST\",class=\"5xx\"} 1\n",
		"p_http_requests_total{route=\"/b/*\",method=\"POST\",class=\"aborted\"} 1\n",
		"p_http_requests_total{route=\"unknown\",method=\"\",class=\"4xx\"} 1\n",
		"# TYPE p_http_request_seconds summary\n",
		"p_http_request_seconds_sum{route=\"/a\",method=\"GET\"} 1.500003\n",
		"p_http_request_seconds_count{route=\"/a\",method=\"GET\"} 3\n",
		"p_http_request_seconds_count{route=\"/b/*\",method=\"POST\"} 2\n",
		"# TYPE p_http_connections_closed_total counter\n",
		"p_http_connections_closed_total{reason=\"header_timeout\"} 0\n",
		"p_http_connections_closed_total{reason=\"slow_body\"} 2\n",
	};
	scoped(route_metrics_freep) struct route_metrics *metrics = NULL;
	scoped(bytes_release) struct bytes out = BYTES_INIT(100000);

	(void)state;
	assert_ok(route_metrics_new(routes, ARRAY_SIZE(routes), &metrics));
	route_metrics_add(metrics, &routes[0], 200, NSEC_PER_SEC);
	route_metrics_add(metrics, &routes[0], 204, NSEC_PER_SEC / 2);
	route_metrics_add(metrics, &routes[0], 304, 3000);
	route_metrics_add(metrics, &routes[1], 507, 0);
	route_metrics_add(metrics, &routes[1], 0, 0);
	route_metrics_add(metrics, NULL, 404, 0);
	route_metrics_add_closed(metrics, HTTP_CLOSED_BODY);
	route_metrics_add_closed(metrics, HTTP_CLOSED_BODY);

	route_metrics_print(metrics, "p_", &out);
	assert_ok(bytes_append_byte(&out, '\0'));
	for (size_t i = 0; i < ARRAY_SIZE(lines); i++)
		if (!strstr((const char *)out.data, lines[i]))
			fail_msg("no line '%s' in:\n%s", lines[i], (const char *)out.data);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(requests_are_counted_by_route_and_class),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
