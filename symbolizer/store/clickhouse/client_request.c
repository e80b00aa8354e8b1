/* SPDX-License-Identifier: Apache-2.0 */
/* The body is the query, or its rows or tables; the query is in the URL then. */

#include "symbolizer/store/clickhouse/client_request.h"

#include <stdio.h>
#include <stdlib.h>

#define CONNECT_TIMEOUT_MS 5000L

/*
 * Parameters of each query in a cluster: an INSERT waits for the shards, and the subqueries of a
 * query run once, not on each server again.
 */
#define CLUSTER_SETTINGS "&insert_distributed_sync=1&distributed_product_mode=global"

static int copy(const char *text, char **ret_copy)
{
	if (!text)
		return 0;
	*ret_copy = strdup(text);
	return *ret_copy ? 0 : -ENOMEM;
}

static int format_header(char **ret_line, const char *name, const char *value)
{
	if (asprintf(ret_line, "%s: %s", name, value) >= 0)
		return 0;
	*ret_line = NULL;
	return -ENOMEM;
}

int request_settings_init(struct request_settings *settings,
			  const struct clickhouse_options *options)
{
	int r;

	settings->is_cluster = options->cluster != NULL;
	r = copy(options->database, &settings->database);
	if (r == 0)
		r = copy(options->ca_file, &settings->ca_file);
	if (r == 0)
		r = format_header(&settings->user_header, "X-ClickHouse-User",
				  options->user ? options->user : "default");
	if (r == 0 && options->password)
		r = format_header(&settings->password_header, "X-ClickHouse-Key",
				  options->password);
	return r;
}

void request_settings_release(struct request_settings *settings)
{
	free(settings->database);
	free(settings->user_header);
	free(settings->password_header);
	free(settings->ca_file);
}

/* Appends a parameter of the URL. */
static void add_parameter(CURL *easy, struct bytes *url, const char *name, const char *value)
{
	char *escaped = curl_easy_escape(easy, value, 0);

	(void)bytes_append_format(url, "&%s=", name);
	if (!escaped)
		url->error = -ENOMEM;
	else
		(void)bytes_append_text(url, escaped);
	curl_free(escaped);
}

static void add_tables(CURL *easy, struct bytes *url, const struct clickhouse_query *query)
{
	char name[64];

	assert(query->n_tables <= CLICKHOUSE_MAX_TABLES);
	for (size_t i = 0; i < query->n_tables; i++) {
		(void)snprintf(name, sizeof(name), "%s_structure", query->tables[i].name);
		add_parameter(easy, url, name, query->tables[i].structure);
		(void)snprintf(name, sizeof(name), "%s_format", query->tables[i].name);
		add_parameter(easy, url, name, "RowBinary");
	}
}

static bool query_is_in_url(const struct clickhouse_query *query)
{
	return query->rows.size > 0 || query->n_tables > 0;
}

static int make_url(CURL *easy, const struct request_settings *settings, const char *server,
		    const char *query_id, const struct clickhouse_query *query, struct bytes *url)
{
	(void)bytes_append_format(url, "%s/?wait_end_of_query=1&query_id=%s", server, query_id);
	if (settings->is_cluster)
		(void)bytes_append_text(url, CLUSTER_SETTINGS);
	if (settings->database && !query->is_without_database)
		add_parameter(easy, url, "database", settings->database);
	if (query->settings)
		(void)bytes_append_format(url, "&%s", query->settings);
	add_tables(easy, url, query);
	if (query_is_in_url(query))
		add_parameter(easy, url, "query", query->sql);
	(void)bytes_append_byte(url, '\0');
	return bytes_error(url) == -EFBIG ? -E2BIG : bytes_error(url);
}

/* The tables as parts of a form. */
static int make_form(CURL *easy, const struct clickhouse_query *query, curl_mime **ret_form)
{
	for (size_t i = 0; i < query->n_tables; i++) {
		const struct clickhouse_table *table = &query->tables[i];
		curl_mimepart *part;

		if (!*ret_form)
			*ret_form = curl_mime_init(easy);
		part = *ret_form ? curl_mime_addpart(*ret_form) : NULL;
		if (!part || curl_mime_name(part, table->name) != CURLE_OK ||
		    curl_mime_filename(part, table->name) != CURLE_OK ||
		    curl_mime_data(part, table->rows.size ? (const char *)table->rows.data : "",
				   table->rows.size) != CURLE_OK)
			return -ENOMEM;
	}
	return 0;
}

static void set_body(CURL *easy, const struct clickhouse_query *query, curl_mime *form)
{
	struct bytes_view body = query->rows;

	if (form) {
		(void)curl_easy_setopt(easy, CURLOPT_MIMEPOST, form);
		return;
	}
	if (!query_is_in_url(query))
		body = (struct bytes_view){ .data = (const uint8_t *)query->sql,
					    .size = strlen(query->sql) };
	(void)curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)body.size);
	(void)curl_easy_setopt(easy, CURLOPT_POSTFIELDS, (const char *)body.data);
}

static bool append_header(struct curl_slist **headers, const char *line)
{
	struct curl_slist *longer = line ? curl_slist_append(*headers, line) : *headers;

	if (line && !longer)
		return false;
	*headers = longer;
	return true;
}

static int make_headers(const struct request_settings *settings, struct curl_slist **headers)
{
	/* The query is sent at once, without a wait for "100 Continue". */
	if (!append_header(headers, "Expect:") || !append_header(headers, settings->user_header) ||
	    !append_header(headers, settings->password_header))
		return -ENOMEM;
	return 0;
}

static uint64_t timeout_of(const struct clickhouse_query *query)
{
	if (query->is_cleanup)
		return CLICKHOUSE_CLEANUP_NS;
	return query->timeout_ns ? query->timeout_ns : CLICKHOUSE_TIMEOUT_NS;
}

static void set_connection(CURL *easy, const struct request_settings *settings, uint64_t timeout_ns)
{
	(void)curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
	(void)curl_easy_setopt(easy, CURLOPT_USERAGENT, "hearth-symbolizer/" HEARTH_VERSION);
	(void)curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
	(void)curl_easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
	(void)curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, CONNECT_TIMEOUT_MS);
	(void)curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS,
			       (long)MAX(timeout_ns / NSEC_PER_MSEC, UINT64_C(1)));
	/* The rows contain names of the fleet, and the request the password: to no proxy. */
	(void)curl_easy_setopt(easy, CURLOPT_PROXY, "");
	if (settings->ca_file)
		(void)curl_easy_setopt(easy, CURLOPT_CAINFO, settings->ca_file);
}

int client_request_set(struct client_request *request, CURL *easy,
		       const struct request_settings *settings, const char *server,
		       const char *query_id, const struct clickhouse_query *query)
{
	int r;

	r = make_url(easy, settings, server, query_id, query, &request->url);
	if (r == 0)
		r = make_form(easy, query, &request->form);
	if (r == 0)
		r = make_headers(settings, &request->headers);
	if (r < 0)
		return r;
	set_connection(easy, settings, timeout_of(query));
	(void)curl_easy_setopt(easy, CURLOPT_URL, (const char *)request->url.data);
	(void)curl_easy_setopt(easy, CURLOPT_HTTPHEADER, request->headers);
	set_body(easy, query, request->form);
	return 0;
}

void client_request_release(struct client_request *request)
{
	bytes_release(&request->url);
	curl_slist_free_all(request->headers);
	curl_mime_free(request->form);
}
