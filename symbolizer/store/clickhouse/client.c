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
#include "symbolizer/store/clickhouse/client_request.h"
#include "symbolizer/store/clickhouse/endpoints.h"
#include "symbolizer/store/clickhouse/server_error.h"

/* Longest time until a cancel is noticed. */
#define WATCH_INTERVAL_MS 100

#define MAX_ATTEMPTS  4
#define FIRST_WAIT_NS (100 * NSEC_PER_MSEC)
#define MAX_WAIT_NS   (2 * NSEC_PER_SEC)

/* Of an answer that is an error. */
#define MAX_ERROR_BYTES (8 * KIB)

/* Characters of the query in messages. */
#define SHOWN_QUERY_LENGTH 100

#define QUERY_ID_SIZE 48
#define MESSAGE_SIZE  1024

struct clickhouse_client {
	CURLM *multi;
	CURL *easy;
	struct endpoints endpoints;
	struct request_settings settings;
	const struct cancel *cancel;
	uint64_t id; /* of query IDs */
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
	client->cancel = options->cancel;
	client->id = hash_seed();
	r = endpoints_init(&client->endpoints, options->url, client->id);
	if (r == 0)
		r = request_settings_init(&client->settings, options);
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
	request_settings_release(&client->settings);
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

size_t clickhouse_client_n_servers(const struct clickhouse_client *client)
{
	return client->endpoints.urls.count;
}

void clickhouse_client_next_server(struct clickhouse_client *client)
{
	endpoints_next(&client->endpoints);
}

/* NULL: the query has none. */
static const struct cancel *cancel_of(const struct clickhouse_client *client,
				      const struct clickhouse_query *query)
{
	if (query->is_cleanup)
		return NULL;
	return query->cancel ? query->cancel : client->cancel;
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
	r = drive(client->multi, cancel_of(client, attempt->query), &code);
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
	scoped(client_request_release) struct client_request request = CLIENT_REQUEST_INIT;
	int r;

	(void)snprintf(client->query_id, sizeof(client->query_id), "hearth-%016" PRIx64 "-%" PRIu64,
		       client->id, client->n_queries++);
	curl_easy_reset(client->easy);
	r = client_request_set(&request, client->easy, &client->settings,
			       endpoints_current(&client->endpoints), client->query_id,
			       attempt->query);
	if (r < 0) {
		set_message(client, attempt->query, strerror(-r));
		return r;
	}
	(void)curl_easy_setopt(client->easy, CURLOPT_WRITEFUNCTION, on_body);
	(void)curl_easy_setopt(client->easy, CURLOPT_WRITEDATA, attempt);
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

		if (cancel_is_requested(cancel_of(client, query)))
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
	const struct clickhouse_query query = { .sql = sql, .is_cleanup = true };
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
