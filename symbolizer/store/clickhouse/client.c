/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One easy handle in one multi handle: the multi interface lets the client look at the cancel flag
 * while it waits. The easy handle is reset for every attempt; its connection stays with the multi
 * handle.
 */

#include "symbolizer/store/clickhouse/client.h"

#include <curl/curl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/backoff.h"
#include "common/hash.h"
#include "symbolizer/store/clickhouse/endpoints.h"
#include "symbolizer/store/clickhouse/server_error.h"

#define CONNECT_TIMEOUT_MS 5000L

/* Longest time until a cancel is noticed. */
#define WATCH_INTERVAL_MS 100

/*
 * Parameters of each query in a cluster: an INSERT waits for the shards, and the subqueries of a
 * query run once, not on each server again.
 */
#define CLUSTER_SETTINGS "&insert_distributed_sync=1&distributed_product_mode=global"

#define MAX_ATTEMPTS  4
#define FIRST_WAIT_NS (100 * NSEC_PER_MSEC)
#define MAX_WAIT_NS   (2 * NSEC_PER_SEC)

/* Of an answer that is an error. */
#define MAX_ERROR_BYTES (8 * KIB)

/* For the KILL QUERY of a query that nobody waits for any more. */
#define KILL_TIMEOUT_NS (10 * NSEC_PER_SEC)

/* Characters of the query in messages. */
#define SHOWN_QUERY_LENGTH 100

#define QUERY_ID_SIZE 48
#define MESSAGE_SIZE  1024

struct clickhouse_client {
	CURLM *multi;
	CURL *easy;
	struct endpoints endpoints;
	bool is_cluster;
	char *database; /* or NULL */
	char *user_header;
	char *password_header;
	char *ca_file; /* or NULL */
	uint64_t id;   /* of query IDs */
	uint64_t n_queries;
	struct backoff backoff;
	char query_id[QUERY_ID_SIZE];
	char message[MESSAGE_SIZE];
	unsigned int code;
};

/* One attempt. */
struct attempt {
	struct clickhouse_client *client;
	const struct clickhouse_query *query;
	long status;
	uint64_t n_bytes;     /* of the answer */
	struct bytes pending; /* of an incomplete row, or of an error */
	bool has_rows;        /* read_row() has had an effect */
	int error;            /* of on_body() */
	bool is_sent;         /* the server may have the query */
	bool is_temporary;
};

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

static int copy_options(struct clickhouse_client *client, const struct clickhouse_options *options)
{
	int r;

	client->is_cluster = options->cluster != NULL;
	r = endpoints_init(&client->endpoints, options->url, client->id);
	if (r == 0)
		r = copy(options->database, &client->database);
	if (r == 0)
		r = copy(options->ca_file, &client->ca_file);
	if (r == 0)
		r = format_header(&client->user_header, "X-ClickHouse-User",
				  options->user ? options->user : "default");
	if (r == 0 && options->password)
		r = format_header(&client->password_header, "X-ClickHouse-Key", options->password);
	return r;
}

int clickhouse_client_new(const struct clickhouse_options *options,
			  struct clickhouse_client **ret_client)
{
	scoped(clickhouse_client_freep) struct clickhouse_client *client = NULL;
	int r;

	if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
		return -ENOMEM;
	client = calloc(1, sizeof(*client));
	if (!client) {
		curl_global_cleanup();
		return -ENOMEM;
	}
	client->id = hash_seed();
	r = copy_options(client, options);
	if (r < 0)
		return r;
	backoff_init(&client->backoff, FIRST_WAIT_NS, MAX_WAIT_NS, client->id | 1);
	client->multi = curl_multi_init();
	client->easy = curl_easy_init();
	if (!client->multi || !client->easy)
		return -ENOMEM;
	*ret_client = take_ptr(client);
	return 0;
}

struct clickhouse_client *clickhouse_client_free(struct clickhouse_client *client)
{
	if (!client)
		return NULL;
	if (client->easy)
		curl_easy_cleanup(client->easy);
	if (client->multi)
		(void)curl_multi_cleanup(client->multi);
	endpoints_release(&client->endpoints);
	free(client->database);
	free(client->user_header);
	free(client->password_header);
	free(client->ca_file);
	free(client);
	curl_global_cleanup();
	return NULL;
}

const char *clickhouse_client_message(const struct clickhouse_client *client)
{
	return client->message;
}

unsigned int clickhouse_client_code(const struct clickhouse_client *client)
{
	return client->code;
}

static void set_message(struct clickhouse_client *client, const struct clickhouse_query *query,
			const char *text)
{
	int shown = (int)MIN(strcspn(query->sql, "\n"), (size_t)SHOWN_QUERY_LENGTH);
	const char *url = endpoints_current(&client->endpoints);

	if (client->code)
		(void)snprintf(client->message, sizeof(client->message),
			       "'%s', query '%.*s', code %u: %s", url, shown, query->sql,
			       client->code, text);
	else
		(void)snprintf(client->message, sizeof(client->message), "'%s', query '%.*s': %s",
			       url, shown, query->sql, text);
}

/* Lets read_row() read all complete rows, and keeps the begin of the next one. */
static int read_rows(struct attempt *attempt)
{
	const struct clickhouse_query *query = attempt->query;
	struct bytes *pending = &attempt->pending;
	struct bytes_reader reader = bytes_reader_of(bytes_view_of(pending));
	const uint8_t *begin = reader.next;
	size_t left;

	while (begin < reader.end) {
		int r = query->read_row(query->arg, &reader);

		if (r < 0)
			return r;
		/* A row has at least one byte, otherwise the loop would not end. */
		if (reader.error < 0 || reader.next == begin)
			break;
		attempt->has_rows = true;
		begin = reader.next;
	}
	left = (size_t)(reader.end - begin);
	if (left > 0 && left < pending->size)
		memmove(pending->data, begin, left);
	pending->size = left;
	return 0;
}

static int take_body(struct attempt *attempt, const void *data, size_t size)
{
	const struct clickhouse_query *query = attempt->query;
	size_t kept;
	int r;

	if (attempt->status == 0)
		(void)curl_easy_getinfo(attempt->client->easy, CURLINFO_RESPONSE_CODE,
					&attempt->status);
	if (attempt->status != 200) {
		kept = MIN(size, MAX_ERROR_BYTES - attempt->pending.size);
		return bytes_append(&attempt->pending, data, kept);
	}
	attempt->n_bytes += size;
	if (query->max_answer_bytes && attempt->n_bytes > query->max_answer_bytes)
		return -EFBIG;
	if (!query->read_row)
		return 0;
	r = bytes_append(&attempt->pending, data, size);
	/* A row above the limit. */
	if (r == -EFBIG)
		r = -EBADMSG;
	return r < 0 ? r : read_rows(attempt);
}

static size_t on_body(char *data, size_t size, size_t count, void *arg)
{
	struct attempt *attempt = arg;

	attempt->error = take_body(attempt, data, size * count);
	return attempt->error < 0 ? 0 : size * count;
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

static int make_url(const struct clickhouse_client *client, const struct clickhouse_query *query,
		    struct bytes *url)
{
	(void)bytes_append_format(url, "%s/?wait_end_of_query=1&query_id=%s",
				  endpoints_current(&client->endpoints), client->query_id);
	if (client->is_cluster)
		(void)bytes_append_text(url, CLUSTER_SETTINGS);
	if (client->database && !query->is_without_database)
		add_parameter(client->easy, url, "database", client->database);
	if (query->settings)
		(void)bytes_append_format(url, "&%s", query->settings);
	add_tables(client->easy, url, query);
	if (query_is_in_url(query))
		add_parameter(client->easy, url, "query", query->sql);
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

static void set_options(struct attempt *attempt, const char *url, struct curl_slist *headers)
{
	const struct clickhouse_client *client = attempt->client;
	uint64_t timeout_ns = attempt->query->timeout_ns;
	CURL *easy = client->easy;

	if (timeout_ns == 0)
		timeout_ns = CLICKHOUSE_TIMEOUT_NS;
	(void)curl_easy_setopt(easy, CURLOPT_URL, url);
	(void)curl_easy_setopt(easy, CURLOPT_HTTPHEADER, headers);
	(void)curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
	(void)curl_easy_setopt(easy, CURLOPT_USERAGENT, "hearth-symbolizer/" HEARTH_VERSION);
	(void)curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
	(void)curl_easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
	(void)curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, CONNECT_TIMEOUT_MS);
	(void)curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS,
			       (long)MAX(timeout_ns / NSEC_PER_MSEC, UINT64_C(1)));
	/* The rows contain names of the fleet, and the request the password: to no proxy. */
	(void)curl_easy_setopt(easy, CURLOPT_PROXY, "");
	if (client->ca_file)
		(void)curl_easy_setopt(easy, CURLOPT_CAINFO, client->ca_file);
	(void)curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_body);
	(void)curl_easy_setopt(easy, CURLOPT_WRITEDATA, attempt);
}

static bool append_header(struct curl_slist **headers, const char *line)
{
	struct curl_slist *longer = line ? curl_slist_append(*headers, line) : *headers;

	if (line && !longer)
		return false;
	*headers = longer;
	return true;
}

static void scoped_free_headers(struct curl_slist **headers)
{
	curl_slist_free_all(*headers);
}

static void scoped_free_form(curl_mime **form)
{
	curl_mime_free(*form);
}

static bool find_result(CURLM *multi, CURLcode *ret_code)
{
	const CURLMsg *message;
	int left;

	while ((message = curl_multi_info_read(multi, &left))) {
		if (message->msg != CURLMSG_DONE)
			continue;
		*ret_code = message->data.result;
		return true;
	}
	return false;
}

/* Runs the transfer until it ends. */
static int drive(CURLM *multi, const struct cancel *cancel, CURLcode *ret_code)
{
	for (;;) {
		int running;

		if (cancel_is_requested(cancel))
			return -ECANCELED;
		if (curl_multi_perform(multi, &running) != CURLM_OK)
			return -EIO;
		if (find_result(multi, ret_code))
			return 0;
		if (curl_multi_poll(multi, NULL, 0, WATCH_INTERVAL_MS, NULL) != CURLM_OK)
			return -EIO;
	}
}

static int errno_of_transfer(struct attempt *attempt, CURLcode code)
{
	switch (code) {
	case CURLE_OUT_OF_MEMORY:
		return -ENOMEM;
	case CURLE_OPERATION_TIMEDOUT:
		return -ETIMEDOUT;
	case CURLE_COULDNT_CONNECT:
	case CURLE_COULDNT_RESOLVE_HOST:
		attempt->is_sent = false;
		attempt->is_temporary = true;
		return -ECONNREFUSED;
	case CURLE_SEND_ERROR:
	case CURLE_RECV_ERROR:
	case CURLE_GOT_NOTHING:
	case CURLE_PARTIAL_FILE:
		attempt->is_temporary = true;
		return -EIO;
	default:
		return -EIO;
	}
}

static int judge_status(struct attempt *attempt)
{
	struct clickhouse_client *client = attempt->client;
	struct server_error error;

	if (attempt->status == 200) {
		if (attempt->pending.size == 0)
			return 0;
		set_message(client, attempt->query, "the answer ends within a row");
		return -EBADMSG;
	}
	server_error_parse(bytes_view_of(&attempt->pending), &error);
	client->code = error.code;
	attempt->is_temporary = server_error_is_temporary(error.code) || attempt->status == 502 ||
				attempt->status == 503 || attempt->status == 504;
	if (error.text[0] == '\0')
		(void)snprintf(error.text, sizeof(error.text), "HTTP status %ld", attempt->status);
	set_message(client, attempt->query, error.text);
	return server_error_errno(error.code);
}

static int judge(struct attempt *attempt, CURLcode code, const char *details)
{
	int r;

	if (attempt->error < 0) {
		set_message(attempt->client, attempt->query,
			    attempt->error == -EFBIG ? "the answer is too long"
						     : strerror(-attempt->error));
		return attempt->error;
	}
	(void)curl_easy_getinfo(attempt->client->easy, CURLINFO_RESPONSE_CODE, &attempt->status);
	/* A server that refuses a query may answer before it has read all of its rows. */
	if (code == CURLE_OK || (code == CURLE_SEND_ERROR && attempt->status >= 400))
		return judge_status(attempt);
	r = errno_of_transfer(attempt, code);
	set_message(attempt->client, attempt->query, *details ? details : curl_easy_strerror(code));
	return r;
}

static int perform(struct attempt *attempt)
{
	struct clickhouse_client *client = attempt->client;
	char details[CURL_ERROR_SIZE] = "";
	CURLcode code = CURLE_OK;
	int r;

	(void)curl_easy_setopt(client->easy, CURLOPT_ERRORBUFFER, details);
	if (curl_multi_add_handle(client->multi, client->easy) != CURLM_OK)
		return -ENOMEM;
	attempt->is_sent = true;
	r = drive(client->multi, attempt->query->cancel, &code);
	if (r == 0)
		r = judge(attempt, code, details);
	else
		set_message(client, attempt->query, strerror(-r));
	(void)curl_multi_remove_handle(client->multi, client->easy);
	(void)curl_easy_setopt(client->easy, CURLOPT_ERRORBUFFER, NULL);
	return r;
}

static int run_attempt(struct attempt *attempt)
{
	struct clickhouse_client *client = attempt->client;
	scoped(bytes_release) struct bytes url = BYTES_INIT(CLICKHOUSE_MAX_URL_BYTES);
	scoped(scoped_free_headers) struct curl_slist *headers = NULL;
	scoped(scoped_free_form) curl_mime *form = NULL;
	int r;

	(void)snprintf(client->query_id, sizeof(client->query_id), "hearth-%016" PRIx64 "-%" PRIu64,
		       client->id, client->n_queries++);
	curl_easy_reset(client->easy);
	r = make_url(client, attempt->query, &url);
	if (r == 0)
		r = make_form(client->easy, attempt->query, &form);
	/* The query is sent at once, without a wait for "100 Continue". */
	if (r == 0 &&
	    (!append_header(&headers, "Expect:") || !append_header(&headers, client->user_header) ||
	     !append_header(&headers, client->password_header)))
		r = -ENOMEM;
	if (r < 0) {
		set_message(client, attempt->query, strerror(-r));
		return r;
	}
	set_options(attempt, (const char *)url.data, headers);
	set_body(client->easy, attempt->query, form);
	r = perform(attempt);
	(void)curl_easy_setopt(client->easy, CURLOPT_HTTPHEADER, NULL);
	(void)curl_easy_setopt(client->easy, CURLOPT_MIMEPOST, NULL);
	return r;
}

/* Waits before the next attempt. */
static int wait_again(struct clickhouse_client *client, const struct clickhouse_query *query)
{
	uint64_t left_ms = backoff_failed(&client->backoff) / NSEC_PER_MSEC;

	while (left_ms > 0) {
		int step_ms = (int)MIN(left_ms, (uint64_t)WATCH_INTERVAL_MS);

		if (cancel_is_requested(query->cancel))
			return -ECANCELED;
		if (curl_multi_poll(client->multi, NULL, 0, step_ms, NULL) != CURLM_OK)
			return -EIO;
		left_ms -= (uint64_t)step_ms;
	}
	return 0;
}

/* How an attempt ended. */
struct outcome {
	bool may_retry;
	bool server_failed; /* another server may do better */
};

static int run_once(struct clickhouse_client *client, const struct clickhouse_query *query,
		    struct outcome *ret_outcome)
{
	struct attempt attempt = {
		.client = client,
		.query = query,
		.pending = BYTES_INIT(CLICKHOUSE_MAX_ROW_BYTES),
	};
	int r;

	client->code = 0;
	r = run_attempt(&attempt);
	bytes_release(&attempt.pending);
	*ret_outcome = (struct outcome){
		.may_retry = r < 0 && attempt.is_temporary && !attempt.has_rows &&
			     (query->idempotent || !attempt.is_sent),
		.server_failed = r < 0 && (attempt.is_temporary || r == -ETIMEDOUT),
	};
	return r;
}

/* Ends a query on the server. Its failure is ignored: the query then runs to its end. */
static void kill_query(struct clickhouse_client *client)
{
	char sql[128], message[MESSAGE_SIZE];
	const struct clickhouse_query query = { .sql = sql, .timeout_ns = KILL_TIMEOUT_NS };
	unsigned int code = client->code;
	struct outcome outcome;

	(void)snprintf(sql, sizeof(sql), "KILL QUERY WHERE query_id = '%s' ASYNC",
		       client->query_id);
	memcpy(message, client->message, sizeof(message));
	(void)run_once(client, &query, &outcome);
	memcpy(client->message, message, sizeof(message));
	client->code = code;
}

int clickhouse_client_run(struct clickhouse_client *client, const struct clickhouse_query *query)
{
	const size_t n_servers = client->endpoints.urls.count;
	const size_t max_attempts =
		query->is_single_attempt ? n_servers : MAX(n_servers, (size_t)MAX_ATTEMPTS);
	struct outcome outcome = { .may_retry = true };
	int r = 0;

	backoff_succeeded(&client->backoff);
	for (size_t i = 0; i < max_attempts && outcome.may_retry; i++) {
		int waited = i >= n_servers ? wait_again(client, query) : 0;

		if (waited < 0)
			return waited;
		r = run_once(client, query, &outcome);
		if (r == -ECANCELED || r == -ETIMEDOUT)
			kill_query(client);
		if (outcome.server_failed)
			endpoints_next(&client->endpoints);
	}
	return r;
}
