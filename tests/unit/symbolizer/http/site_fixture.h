/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A test site: routes of every kind, a server with these routes on a free loopback port, and
 * requests sent by libcurl.
 */

#include <curl/curl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>

#include "symbolizer/http/server.h"
#include "tests/support/unit.h"
#include "tests/support/wait_until.h"

#define ECHO_LIMIT   1000
#define STREAM_LIMIT (64 * MIB)
#define LARGE_BYTES  300000
#define HUGE_BYTES   (32 * MIB) /* larger than the buffers of two sockets */
#define N_WORKERS    4
#define MAX_WAITING  2

#define MAX_CONNECTIONS 64

/* State that the handlers share with a test. */
struct site {
	atomic_uint streams_open;
	atomic_uint streams_begun;
	atomic_ullong stream_bytes;
	pthread_barrier_t gate; /* GET /gate waits here until a test waits too */
	atomic_bool at_gate;
	sem_t leaves; /* GET /hold waits for one before it answers */
	atomic_uint holding;
	atomic_bool stops;    /* the test has failed: GET /long ends */
	atomic_uint canceled; /* requests of GET /long that their clients ended */
	struct auth *auth;
	struct route_metrics *metrics;
	uint64_t max_held_answer_bytes;
	struct http_client_limits limits; /* no limits, unless a test sets them before start() */
	struct http_server *server;
	unsigned int port; /* of the first address */
};

static inline void say_hello(void *context, const struct http_request *request,
			     struct http_response *response)
{
	const char *name = http_request_parameter(request, "name");

	(void)context;
	bytes_append_format(&response->body, "{\"hello\":\"%s\",\"argument\":\"%s\"}",
			    name ? name : "", request->argument);
}

static inline void send_large(void *context, const struct http_request *request,
			      struct http_response *response)
{
	(void)context;
	(void)request;
	for (size_t i = 0; i < LARGE_BYTES; i++)
		bytes_append_byte(&response->body, (uint8_t)('a' + i % 7));
}

static inline void send_huge(void *context, const struct http_request *request,
			     struct http_response *response)
{
	(void)context;
	(void)request;
	response->content_type = "application/octet-stream";
	assert_ok(bytes_reserve(&response->body, HUGE_BYTES));
	memset(response->body.data, 'x', HUGE_BYTES);
	response->body.size = HUGE_BYTES;
}

static inline void send_too_much(void *context, const struct http_request *request,
				 struct http_response *response)
{
	response->body.ceiling = 1000;
	send_large(context, request, response);
}

static inline void echo(void *context, const struct http_request *request,
			struct http_response *response)
{
	(void)context;
	bytes_append(&response->body, request->body.data, request->body.size);
}

static inline void send_file(void *context, const struct http_request *request,
			     struct http_response *response)
{
	FILE *file = tmpfile();

	(void)context;
	(void)request;
	assert_non_null(file);
	assert_int_equal(fputs("what the file holds", file), 1);
	assert_int_equal(fflush(file), 0);
	response->file = dup(fileno(file));
	assert_int_equal(lseek(response->file, 0, SEEK_SET), 0);
	response->file_bytes = strlen("what the file holds");
	(void)fclose(file);
}

/* Serves GET and HEAD differently, like a route with an expensive body. */
static inline void send_costly(void *context, const struct http_request *request,
			       struct http_response *response)
{
	if (request->method == HTTP_HEAD)
		response->head_bytes = UINT64_C(5) * GIB;
	else
		send_file(context, request, response);
}

static inline void wait_at_gate(void *context, const struct http_request *request,
				struct http_response *response)
{
	struct site *site = context;

	(void)request;
	atomic_store(&site->at_gate, true);
	(void)pthread_barrier_wait(&site->gate);
	bytes_append_text(&response->body, "through");
}

static inline void hold(void *context, const struct http_request *request,
			struct http_response *response)
{
	struct site *site = context;

	(void)request;
	(void)response;
	atomic_fetch_add(&site->holding, 1);
	(void)sem_wait(&site->leaves);
}

/* Works until the client closes the connection. */
static inline void work_long(void *context, const struct http_request *request,
			     struct http_response *response)
{
	struct site *site = context;

	(void)response;
	atomic_fetch_add(&site->holding, 1);
	while (!cancel_is_requested(request->cancel) && !atomic_load(&site->stops))
		(void)usleep(1000);
	atomic_fetch_add(&site->canceled, cancel_is_requested(request->cancel));
}

static inline void *stream_begin(void *context, const struct http_request *request,
				 uint64_t declared_bytes, struct http_response *response)
{
	struct site *site = context;

	(void)declared_bytes;
	if (strcmp(request->argument, "refuse") == 0) {
		http_response_error(response, 400, "refused at the beginning");
		return NULL;
	}
	atomic_fetch_add(&site->streams_open, 1);
	atomic_fetch_add(&site->streams_begun, 1);
	atomic_store(&site->stream_bytes, 0);
	return site;
}

static inline bool stream_append(void *stream, struct bytes_view data,
				 struct http_response *response)
{
	struct site *site = stream;

	if (memchr(data.data, '!', data.size)) {
		http_response_error(response, 507, "refused in the middle");
		return false;
	}
	atomic_fetch_add(&site->stream_bytes, data.size);
	return true;
}

static inline void stream_finish(void *stream, const struct http_request *request,
				 struct http_response *response)
{
	struct site *site = stream;

	(void)request;
	bytes_append_format(&response->body, "%llu",
			    (unsigned long long)atomic_load(&site->stream_bytes));
}

static inline void stream_free(void *stream)
{
	atomic_fetch_sub(&((struct site *)stream)->streams_open, 1);
}

static const struct http_stream_operations stream = { stream_begin, stream_append, stream_finish,
						      stream_free };

static const struct http_route routes[] = {
	{ .method = HTTP_GET, .pattern = "/", .handler = say_hello },
	{ .method = HTTP_GET,
	  .pattern = "/hello/*",
	  .handler = say_hello,
	  .scopes = HTTP_SCOPE_READ },
	{ .method = HTTP_GET,
	  .pattern = "/large",
	  .handler = send_large,
	  .scopes = HTTP_SCOPE_READ },
	{ .method = HTTP_GET, .pattern = "/huge", .handler = send_huge },
	{ .method = HTTP_GET, .pattern = "/too-much", .handler = send_too_much },
	{ .method = HTTP_GET, .pattern = "/file", .handler = send_file },
	{ .method = HTTP_GET, .pattern = "/costly", .handler = send_costly },
	{ .method = HTTP_GET, .pattern = "/gate", .handler = wait_at_gate },
	{ .method = HTTP_GET, .pattern = "/hold", .lane = HTTP_LANE_QUERY, .handler = hold },
	{ .method = HTTP_GET, .pattern = "/long", .lane = HTTP_LANE_QUERY, .handler = work_long },
	{ .method = HTTP_GET,
	  .pattern = "/hold-for-readers",
	  .handler = hold,
	  .scopes = HTTP_SCOPE_READ },
	{ .method = HTTP_GET,
	  .pattern = "/query-for-readers",
	  .lane = HTTP_LANE_QUERY,
	  .handler = hold,
	  .scopes = HTTP_SCOPE_READ },
	{ .method = HTTP_GET,
	  .pattern = "/huge-for-readers",
	  .handler = send_huge,
	  .scopes = HTTP_SCOPE_READ },
	{ .method = HTTP_PUT,
	  .pattern = "/stream-of-readers/*",
	  .stream = &stream,
	  .scopes = HTTP_SCOPE_READ,
	  .body_limit_bytes = STREAM_LIMIT },
	{ .method = HTTP_POST,
	  .pattern = "/echo",
	  .handler = echo,
	  .body_limit_bytes = ECHO_LIMIT },
	{ .method = HTTP_DELETE,
	  .pattern = "/hello/*",
	  .handler = say_hello,
	  .scopes = HTTP_SCOPE_ADMIN | HTTP_SCOPE_UPLOAD },
	{ .method = HTTP_PUT,
	  .pattern = "/stream/*",
	  .stream = &stream,
	  .body_limit_bytes = STREAM_LIMIT },
};

static inline int start(struct site *site, const char *listen, bool insecure, char *message)
{
	const struct http_server_options options = {
		.routes = routes,
		.n_routes = ARRAY_SIZE(routes),
		.context = site,
		.auth = site->auth,
		.metrics = site->metrics,
		.clock = &system_clock,
		.listen = listen,
		.n_workers = N_WORKERS,
		.max_waiting = MAX_WAITING,
		.max_connections = MAX_CONNECTIONS,
		.max_held_answer_bytes = site->max_held_answer_bytes,
		.limits = site->limits,
		.insecure = insecure,
	};

	int r = http_server_start(&options, &site->server, message);

	if (r == 0)
		site->port = http_server_port(site->server);
	return r;
}

static inline int site_new(struct site **ret_site)
{
	struct site *site = calloc(1, sizeof(*site));

	if (!site)
		return -1;
	(void)pthread_barrier_init(&site->gate, NULL, 2);
	(void)sem_init(&site->leaves, 0, 0);
	assert_ok(auth_new(&site->auth));
	assert_ok(route_metrics_new(routes, ARRAY_SIZE(routes), &site->metrics));
	*ret_site = site;
	return 0;
}

static inline void start_with(struct site *site, struct http_client_limits limits)
{
	char message[HTTP_SERVER_MESSAGE_SIZE];

	site->limits = limits;
	if (start(site, "127.0.0.1:0", false, message) < 0)
		fail_msg("%s", message);
}

static inline int site_setup(void **state)
{
	if (site_new((struct site **)state) < 0)
		return -1;
	start_with(*state, (struct http_client_limits){});
	return 0;
}

static inline int idle_site_setup(void **state)
{
	return site_new((struct site **)state);
}

static inline int site_teardown(void **state)
{
	struct site *site = *state;

	/* If the test failed, requests may still be held: release them, or the server would not
	 * stop. */
	atomic_store(&site->stops, true);
	for (unsigned int i = 0; i < N_WORKERS + MAX_WAITING; i++)
		(void)sem_post(&site->leaves);
	(void)http_server_free(site->server);
	(void)auth_free(site->auth);
	(void)route_metrics_free(site->metrics);
	(void)pthread_barrier_destroy(&site->gate);
	(void)sem_destroy(&site->leaves);
	free(site);
	return 0;
}

struct answer {
	long status;
	struct bytes headers;
	struct bytes body;
};

static inline size_t collect(char *data, size_t size, size_t count, void *arg)
{
	return bytes_append(arg, data, size * count) < 0 ? 0 : size * count;
}

static inline void answer_release(struct answer *answer)
{
	bytes_release(&answer->headers);
	bytes_release(&answer->body);
}

/* Prepares a request, which a test can modify before it is sent. */
static inline CURL *new_request(const struct site *site, const char *method, const char *path)
{
	CURL *curl = curl_easy_init();
	char url[256];

	assert_non_null(curl);
	(void)snprintf(url, sizeof(url), "http://127.0.0.1:%u%s", site->port, path);
	(void)curl_easy_setopt(curl, CURLOPT_URL, url);
	(void)curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, method);
	(void)curl_easy_setopt(curl, CURLOPT_PATH_AS_IS, 1L);
	(void)curl_easy_setopt(curl, CURLOPT_TIMEOUT, 20L);
	(void)curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
	(void)curl_easy_setopt(curl, CURLOPT_NOPROXY, "*");
	if (strcmp(method, "HEAD") == 0)
		(void)curl_easy_setopt(curl, CURLOPT_NOBODY, 1L);
	return curl;
}

/* Sends the request. The handle can be used again. */
static inline CURLcode perform(CURL *curl, struct answer *answer)
{
	CURLcode code;

	*answer = (struct answer){ .headers = BYTES_INIT(MIB), .body = BYTES_INIT(MIB) };
	(void)curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, collect);
	(void)curl_easy_setopt(curl, CURLOPT_WRITEDATA, &answer->body);
	(void)curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, collect);
	(void)curl_easy_setopt(curl, CURLOPT_HEADERDATA, &answer->headers);
	code = curl_easy_perform(curl);
	(void)curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &answer->status);
	bytes_append_byte(&answer->headers, '\0');
	bytes_append_byte(&answer->body, '\0');
	return code;
}

static const char *text_of(const struct bytes *bytes)
{
	return (const char *)bytes->data;
}

/* Sends one request; @header is an additional header, or NULL. */
static inline void ask(const struct site *site, const char *method, const char *path,
		       const char *header, const char *body, struct answer *answer)
{
	struct curl_slist *headers = curl_slist_append(NULL, header ? header : "X-None: 1");
	CURL *curl = new_request(site, method, path);
	CURLcode code;

	(void)curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
	if (body)
		(void)curl_easy_setopt(curl, CURLOPT_POSTFIELDS, body);
	code = perform(curl, answer);
	curl_easy_cleanup(curl);
	curl_slist_free_all(headers);
	if (code != CURLE_OK)
		fail_msg("%s %s: %s", method, path, curl_easy_strerror(code));
}

static inline void assert_status(const struct site *site, const char *method, const char *path,
				 const char *header, const char *body, long status)
{
	scoped(answer_release) struct answer answer;

	ask(site, method, path, header, body, &answer);
	if (answer.status != status)
		fail_msg("%s %s: %ld instead of %ld: %s", method, path, answer.status, status,
			 text_of(&answer.body));
}

static inline bool has_metric(const struct site *site, const char *line)
{
	scoped(bytes_release) struct bytes out = BYTES_INIT(100000);

	route_metrics_print(site->metrics, "", &out);
	assert_ok(bytes_append_byte(&out, '\0'));
	return strstr(text_of(&out), line) != NULL;
}

/* The counter is incremented a moment after the answer is sent or the connection closed. */
#define expect_metric(site, line) wait_until(has_metric((site), (line)))

#define HASH_A "8766b9cb08e6040b704f1e3ee1e186efccf2635b1d2634d6525333007e6aeae1"
#define HASH_B "ff492ef788c89b555e6f738b33d2422f57dbb6656af2402155672c5f123a90af"

/* The tokens "secret-a" and "secret-b" may read. */
static inline void use_tokens(struct site *site)
{
	static const char tokens[] = "tokens: [{name: reader, sha256: " HASH_A ", scopes: [read]},"
				     " {name: other, sha256: " HASH_B ", scopes: [read]}]";
	char folder[] = "/tmp/hearth-test-XXXXXX", message[AUTH_MESSAGE_SIZE];
	scoped_free char *path = NULL;

	assert_non_null(mkdtemp(folder));
	path = write_file_in(folder, "tokens", tokens, strlen(tokens));
	assert_ok(auth_load(site->auth, path, message));
	assert_int_equal(unlink(path), 0);
	assert_int_equal(rmdir(folder), 0);
}

#define SITE_TEST(name) cmocka_unit_test_setup_teardown(name, site_setup, site_teardown)
#define IDLE_TEST(name) cmocka_unit_test_setup_teardown(name, idle_site_setup, site_teardown)
