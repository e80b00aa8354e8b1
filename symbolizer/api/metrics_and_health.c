/* SPDX-License-Identifier: Apache-2.0 */

/*
 * /metrics for Prometheus; /healthz and /readyz for programs that restart this process or route
 * requests to it. They are answered while the disk hangs: other threads read the values that are on
 * the disk (background_reading.h).
 */

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/json_writer.h"
#include "common/metrics.h"
#include "symbolizer/api/api.h"
#include "symbolizer/api/background_reading.h"

#define METRIC_PREFIX "hearth_symbolizer_"

/* Longest wait of a request for the disk. Programs that check health wait for a second or more. */
#define READING_WAIT_NS (500 * NSEC_PER_MSEC)

/* A disk without an answer for this time is reported. Batches are lost for agents without a spool
 * after some minutes only. */
#define READING_HANG_NS (5 * NSEC_PER_SEC)

static const struct metric_row metric_rows[] = {
#define METRIC(id, name, type, labels, help) { name, type, labels, help },
#include "symbolizer/api/metrics.def"
#undef METRIC
};

static_assert(ARRAY_SIZE(metric_rows) == API_METRIC_COUNT, "every metric needs a row");

struct readiness {
	int error; /* of store_check() */
};

static void read_readiness(void *arg, void *ret_value)
{
	struct api_context *context = arg;
	struct readiness *readiness = ret_value;

	readiness->error = store_check(context->store);
}

struct figures {
	int store_error;
	struct store_stats store;
	struct symbol_cache_counts tables;
};

static void read_figures(void *arg, void *ret_value)
{
	struct api_context *context = arg;
	struct figures *figures = ret_value;

	*figures = (struct figures){ .tables = resolver_counts(context->resolver) };
	figures->store_error = store_stats(context->store, &figures->store);
}

int api_start_readings(struct api_context *context)
{
	struct background_reading_options options = {
		.arg = context,
		.read = read_readiness,
		.value_size = sizeof(struct readiness),
		.wait_ns = READING_WAIT_NS,
		.hang_ns = READING_HANG_NS,
	};
	int r;

	r = background_reading_new(&options, &context->readiness);
	if (r < 0)
		return r;
	options.read = read_figures;
	options.value_size = sizeof(struct figures);
	return background_reading_new(&options, &context->figures);
}

void api_stop_readings(struct api_context *context)
{
	context->readiness = background_reading_free(context->readiness);
	context->figures = background_reading_free(context->figures);
}

/* Returns the resident memory of this process, from the second number of /proc/self/statm; 0 if
 * it cannot be read. */
static uint64_t resident_bytes(void)
{
	scoped_file FILE *file = fopen("/proc/self/statm", "re");
	unsigned long long size_pages, resident_pages;

	if (!file || fscanf(file, "%llu %llu", &size_pages, &resident_pages) != 2)
		return 0;
	return resident_pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

static void set_debuginfo_gauges(struct api_context *context)
{
	struct debuginfo_totals totals = debuginfo_store_totals(context->debuginfo);
	struct debuginfo_upstream_counts upstream = {};

	if (context->upstream)
		upstream = debuginfo_upstream_counts(context->upstream);
	metric_set(context->metrics, API_METRIC_DEBUGINFO_STORED_BYTES, totals.stored_bytes);
	metric_set(context->metrics, API_METRIC_DEBUGINFO_EVICTED, totals.n_evicted);
	metric_set(context->metrics, API_METRIC_UPSTREAM_FETCHED, upstream.n_fetched);
	metric_set(context->metrics, API_METRIC_UPSTREAM_MISSING, upstream.n_missing);
	metric_set(context->metrics, API_METRIC_UPSTREAM_REFUSED, upstream.n_refused);
	metric_set(context->metrics, API_METRIC_UPSTREAM_FAILED, upstream.n_failed);
	metric_set(context->metrics, API_METRIC_UPSTREAM_BYTES, upstream.bytes);
}

static void set_table_gauges(struct api_context *context, struct symbol_cache_counts counts)
{
	metric_set(context->metrics, API_METRIC_TABLES_MADE, counts.n_made);
	metric_set(context->metrics, API_METRIC_TABLES_REFUSED, counts.n_refused);
	metric_set(context->metrics, API_METRIC_TABLES_DIED, counts.n_died);
	metric_set(context->metrics, API_METRIC_TABLES_PENDING, counts.n_pending);
	metric_set(context->metrics, API_METRIC_TABLES_OPEN, counts.n_open);
	metric_set(context->metrics, API_METRIC_TABLES_BYTES, counts.bytes);
	metric_set(context->metrics, API_METRIC_TABLES_STORED_BYTES, counts.stored_bytes);
}

static void set_store_gauges(struct api_context *context, const struct store_stats *stats)
{
	metric_set(context->metrics, API_METRIC_STORE_BATCHES, stats->n_batches);
	metric_set(context->metrics, API_METRIC_STORE_ROWS, stats->n_rows);
	metric_set(context->metrics, API_METRIC_STORE_STACKS, stats->n_stacks);
	metric_set(context->metrics, API_METRIC_STORE_SERIES, stats->n_series);
	metric_set(context->metrics, API_METRIC_STORE_REFUSED_SERIES, stats->n_refused_series);
	metric_set(context->metrics, API_METRIC_STORE_PROCESSES, stats->n_processes);
	metric_set(context->metrics, API_METRIC_STORE_DISK_BYTES, stats->disk_bytes);
	metric_set(context->metrics, API_METRIC_STORE_REMOVED_BY_AGE, stats->n_days_removed_by_age);
	metric_set(context->metrics, API_METRIC_STORE_REMOVED_BY_SIZE,
		   stats->n_days_removed_by_size);
}

static void set_gauges(struct api_context *context)
{
	struct figures figures;

	metric_set(context->metrics, API_METRIC_RSS_BYTES, resident_bytes());
	metric_set(context->metrics, API_METRIC_DEBUGINFO_GENERATION,
		   debuginfo_generation(context->debuginfo));
	set_debuginfo_gauges(context);
	if (context->ingest)
		metric_set(context->metrics, API_METRIC_AGENTS_WRONG_CLOCK,
			   ingest_count_wrong_clocks(context->ingest));
	if (context->connections)
		metric_set(context->metrics, API_METRIC_OPEN_CONNECTIONS,
			   context->connections(context->connections_arg));
	/* While the disk hangs, the gauges below keep their values. */
	if (background_reading_get(context->figures, &figures) < 0) {
		api_count(context, API_METRIC_STORE_ERRORS, 1);
		return;
	}
	set_table_gauges(context, figures.tables);
	if (figures.store_error < 0)
		api_count(context, API_METRIC_STORE_ERRORS, 1);
	else
		set_store_gauges(context, &figures.store);
}

void api_metrics(struct api_context *context, const struct http_request *request,
		 struct http_response *response)
{
	(void)request;
	set_gauges(context);
	if (context->route_metrics)
		route_metrics_print(context->route_metrics, METRIC_PREFIX, &response->body);
	(void)metrics_print(METRIC_PREFIX, metric_rows, context->metrics, API_METRIC_COUNT,
			    &response->body);
	response->content_type = "text/plain; version=0.0.4; charset=utf-8";
}

static void write_ok(struct http_response *response)
{
	struct json_writer json;

	json_writer_init(&json, &response->body);
	json_object_begin(&json);
	json_key_text(&json, "status", "ok");
	json_object_end(&json);
}

void api_healthz(struct api_context *context, const struct http_request *request,
		 struct http_response *response)
{
	(void)context;
	(void)request;
	write_ok(response);
}

static const char *remedy_for(int error)
{
	if (error == -ENOSPC || error == -EDQUOT)
		return "; make room on the disk, or set a lower retention_size and restart the "
		       "server";
	if (error == -ECONNREFUSED || error == -ETIMEDOUT)
		return "; ClickHouse does not answer at clickhouse.url";
	return "";
}

void api_readyz(struct api_context *context, const struct http_request *request,
		struct http_response *response)
{
	struct readiness readiness;

	(void)request;
	if (background_reading_get(context->readiness, &readiness) < 0)
		http_response_error(response, 503,
				    "samples cannot be stored: the disk of the data folder does "
				    "not answer");
	else if (readiness.error < 0)
		http_response_error(response, 503, "samples cannot be stored: %s%s",
				    strerror(-readiness.error), remedy_for(readiness.error));
	else
		write_ok(response);
}
