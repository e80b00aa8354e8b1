/* SPDX-License-Identifier: Apache-2.0 */

/*
 * There is one row of counters per route and one for all unknown paths, so that a scan for files
 * that do not exist adds one row and not one per path.
 */

#include "symbolizer/http/route_metrics.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdlib.h>

enum status_class {
	CLASS_ABORTED, /* no answer was sent */
	CLASS_2XX,
	CLASS_3XX,
	CLASS_4XX,
	CLASS_5XX,
	CLASS_COUNT,
};

static const char *const class_names[CLASS_COUNT] = { "aborted", "2xx", "3xx", "4xx", "5xx" };

struct route_row {
	_Atomic uint64_t requests[CLASS_COUNT];
	_Atomic uint64_t duration_ns;
};

struct route_metrics {
	const struct http_route *routes;
	size_t count;
	_Atomic uint64_t closed[HTTP_CLOSED_COUNT];
	_Atomic uint64_t token_limit;
	struct route_row rows[]; /* [count + 1]: the last row is for unknown paths */
};

int route_metrics_new(const struct http_route *routes, size_t count,
		      struct route_metrics **ret_metrics)
{
	struct route_metrics *metrics =
		calloc(1, sizeof(*metrics) + (count + 1) * sizeof(metrics->rows[0]));

	if (!metrics)
		return -ENOMEM;
	metrics->routes = routes;
	metrics->count = count;
	*ret_metrics = metrics;
	return 0;
}

struct route_metrics *route_metrics_free(struct route_metrics *metrics)
{
	free(metrics);
	return NULL;
}

static enum status_class class_of(unsigned int status)
{
	if (status == 0)
		return CLASS_ABORTED;
	if (status < 300)
		return CLASS_2XX;
	if (status < 400)
		return CLASS_3XX;
	return status < 500 ? CLASS_4XX : CLASS_5XX;
}

void route_metrics_add(struct route_metrics *metrics, const struct http_route *route,
		       unsigned int status, uint64_t duration_ns)
{
	size_t index = route ? (size_t)(route - metrics->routes) : metrics->count;
	struct route_row *row = &metrics->rows[index];

	assert(index <= metrics->count);
	atomic_fetch_add_explicit(&row->requests[class_of(status)], 1, memory_order_relaxed);
	atomic_fetch_add_explicit(&row->duration_ns, duration_ns, memory_order_relaxed);
}

static void print_labels(const struct route_metrics *metrics, size_t index, struct bytes *out)
{
	if (index == metrics->count)
		bytes_append_text(out, "{route=\"unknown\",method=\"\"");
	else
		bytes_append_format(out, "{route=\"%s\",method=\"%s\"",
				    metrics->routes[index].pattern,
				    http_method_name(metrics->routes[index].method));
}

static void print_requests(struct route_metrics *metrics, const char *prefix, struct bytes *out)
{
	bytes_append_format(
		out,
		"# HELP %shttp_requests_total requests answered, by route and class of status\n"
		"# TYPE %shttp_requests_total counter\n",
		prefix, prefix);
	for (size_t i = 0; i <= metrics->count; i++) {
		for (unsigned int class = 0; class < CLASS_COUNT; class ++) {
			bytes_append_format(out, "%shttp_requests_total", prefix);
			print_labels(metrics, i, out);
			bytes_append_format(out, ",class=\"%s\"} %" PRIu64 "\n", class_names[class],
					    atomic_load_explicit(&metrics->rows[i].requests[class],
								 memory_order_relaxed));
		}
	}
}

static void print_durations(struct route_metrics *metrics, const char *prefix, struct bytes *out)
{
	bytes_append_format(out,
			    "# HELP %shttp_request_seconds time from a request's headers to the "
			    "end of its answer\n"
			    "# TYPE %shttp_request_seconds summary\n",
			    prefix, prefix);
	for (size_t i = 0; i <= metrics->count; i++) {
		struct route_row *row = &metrics->rows[i];
		uint64_t count = 0;

		for (unsigned int class = 0; class < CLASS_COUNT; class ++)
			count += atomic_load_explicit(&row->requests[class], memory_order_relaxed);
		bytes_append_format(out, "%shttp_request_seconds_sum", prefix);
		print_labels(metrics, i, out);
		bytes_append_format(
			out, "} %.6f\n",
			(double)atomic_load_explicit(&row->duration_ns, memory_order_relaxed) /
				(double)NSEC_PER_SEC);
		bytes_append_format(out, "%shttp_request_seconds_count", prefix);
		print_labels(metrics, i, out);
		bytes_append_format(out, "} %" PRIu64 "\n", count);
	}
}

void route_metrics_add_closed(struct route_metrics *metrics, enum http_closed reason)
{
	atomic_fetch_add_explicit(&metrics->closed[reason], 1, memory_order_relaxed);
}

void route_metrics_add_token_limit(struct route_metrics *metrics)
{
	atomic_fetch_add_explicit(&metrics->token_limit, 1, memory_order_relaxed);
}

static void print_token_limit(struct route_metrics *metrics, const char *prefix, struct bytes *out)
{
	bytes_append_format(out,
			    "# HELP %shttp_token_limit_total requests refused because their token "
			    "had reached a limit\n"
			    "# TYPE %shttp_token_limit_total counter\n"
			    "%shttp_token_limit_total %" PRIu64 "\n",
			    prefix, prefix, prefix,
			    atomic_load_explicit(&metrics->token_limit, memory_order_relaxed));
}

static void print_closed(struct route_metrics *metrics, const char *prefix, struct bytes *out)
{
	static const char *const reasons[] = {
#define X(id, name, reason) name,
		HTTP_CLOSED(X)
#undef X
	};

	bytes_append_format(out,
			    "# HELP %shttp_connections_closed_total connections closed because of "
			    "their client, by reason\n"
			    "# TYPE %shttp_connections_closed_total counter\n",
			    prefix, prefix);
	for (unsigned int i = 0; i < HTTP_CLOSED_COUNT; i++)
		bytes_append_format(
			out, "%shttp_connections_closed_total{reason=\"%s\"} %" PRIu64 "\n", prefix,
			reasons[i],
			atomic_load_explicit(&metrics->closed[i], memory_order_relaxed));
}

void route_metrics_print(struct route_metrics *metrics, const char *prefix, struct bytes *out)
{
	print_requests(metrics, prefix, out);
	print_durations(metrics, prefix, out);
	print_closed(metrics, prefix, out);
	print_token_limit(metrics, prefix, out);
}
