/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Tests the server over real sockets on loopback, with libcurl as client.
 */

#include "symbolizer/http/server.h"

#include <arpa/inet.h>
#include <sched.h>
#include <sys/socket.h>
#include <time.h>

#include "tests/unit/symbolizer/http/site_fixture.h"

static void a_get_is_answered_by_its_handler(void **state)
{
	scoped(answer_release) struct answer answer;

	ask(*state, "GET", "/hello/wor%6cd?name=a%20b%26c&name=later", NULL, NULL, &answer);
	assert_int_equal(answer.status, 200);
	assert_string_equal(text_of(&answer.body), "{\"hello\":\"a b&c\",\"argument\":\"world\"}");
	assert_non_null(strstr(text_of(&answer.headers), "Content-Type: application/json\r\n"));
	assert_non_null(strstr(text_of(&answer.headers), "Cache-Control: no-store\r\n"));
	assert_non_null(strstr(text_of(&answer.headers), "X-Content-Type-Options: nosniff\r\n"));
}

static void a_head_has_the_headers_of_a_get_and_no_body(void **state)
{
	scoped(answer_release) struct answer answer;

	ask(*state, "HEAD", "/large", NULL, NULL, &answer);
	assert_int_equal(answer.status, 200);
	assert_int_equal(answer.body.size, 1);
	assert_non_null(strstr(text_of(&answer.headers), "Content-Length: 300000\r\n"));
}

static void a_head_can_have_a_length_without_a_body(void **state)
{
	scoped(answer_release) struct answer answer;

	ask(*state, "HEAD", "/costly", NULL, NULL, &answer);
	assert_int_equal(answer.status, 200);
	assert_int_equal(answer.body.size, 1);
	assert_non_null(strstr(text_of(&answer.headers), "Content-Length: 5368709120\r\n"));
}

static void a_file_is_sent_as_it_is(void **state)
{
	scoped(answer_release) struct answer answer;

	ask(*state, "GET", "/file", "Accept-Encoding: gzip", NULL, &answer);
	assert_string_equal(text_of(&answer.body), "what the file holds");
}

static void a_large_answer_is_compressed_if_the_client_accepts_it(void **state)
{
	scoped(answer_release) struct answer plain, packed;

	ask(*state, "GET", "/large", NULL, NULL, &plain);
	assert_int_equal(plain.body.size, LARGE_BYTES + 1);
	ask(*state, "GET", "/large", "Accept-Encoding: gzip", NULL, &packed);
	assert_true(packed.body.size < LARGE_BYTES / 10);
	assert_non_null(strstr(text_of(&packed.headers), "Content-Encoding: gzip\r\n"));
	assert_memory_equal(packed.body.data, "\x1f\x8b", 2);
}

static void an_answer_beyond_its_limit_is_an_error_that_says_so(void **state)
{
	scoped(answer_release) struct answer answer;

	ask(*state, "GET", "/too-much", NULL, NULL, &answer);
	assert_int_equal(answer.status, 500);
	assert_non_null(strstr(text_of(&answer.body), "larger than"));
}

static void a_connection_serves_one_request_after_another(void **state)
{
	CURL *curl = new_request(*state, "POST", "/echo");

	for (unsigned int i = 0; i < 5; i++) {
		scoped(answer_release) struct answer answer;
		char body[16];
		long connects;

		(void)snprintf(body, sizeof(body), "body %u", i);
		(void)curl_easy_setopt(curl, CURLOPT_POSTFIELDS, body);
		assert_int_equal(perform(curl, &answer), CURLE_OK);
		assert_string_equal(text_of(&answer.body), body);
		(void)curl_easy_getinfo(curl, CURLINFO_NUM_CONNECTS, &connects);
		assert_int_equal(connects, i == 0 ? 1 : 0);
	}
	curl_easy_cleanup(curl);
}

static void unknown_paths_and_wrong_methods_differ(void **state)
{
	scoped(answer_release) struct answer answer;

	assert_status(*state, "GET", "/nothing", NULL, NULL, 404);
	assert_status(*state, "GET", "/../../etc/passwd", NULL, NULL, 404);
	assert_status(*state, "GET", "/%00", NULL, NULL, 404);
	assert_status(*state, "BREW", "/hello/x", NULL, NULL, 405);
	ask(*state, "POST", "/hello/x", NULL, "some body", &answer);
	assert_int_equal(answer.status, 405);
	assert_non_null(strstr(text_of(&answer.headers), "Allow: GET, HEAD, DELETE\r\n"));
	assert_non_null(strstr(text_of(&answer.body), "\"error\""));
}

static void a_body_beyond_the_limit_is_refused(void **state)
{
	char body[ECHO_LIMIT + 2];

	memset(body, 'x', sizeof(body));
	body[ECHO_LIMIT] = '\0';
	assert_status(*state, "POST", "/echo", NULL, body, 200);
	body[ECHO_LIMIT] = 'x';
	body[ECHO_LIMIT + 1] = '\0';
	assert_status(*state, "POST", "/echo", NULL, body, 413);
	/* Without Content-Length, the limit is detected while the body arrives. */
	assert_status(*state, "POST", "/echo", "Transfer-Encoding: chunked", body, 413);
}

static size_t never_called(char *data, size_t size, size_t count, void *arg)
{
	(void)data;
	(void)size;
	(void)count;
	*(bool *)arg = true;
	return CURL_READFUNC_ABORT;
}

static void a_body_declared_too_large_is_refused_before_it_is_sent(void **state)
{
	struct curl_slist *headers = curl_slist_append(NULL, "Expect: 100-continue");
	CURL *curl = new_request(*state, "POST", "/echo");
	scoped(answer_release) struct answer answer;
	bool was_sent = false;

	(void)curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
	(void)curl_easy_setopt(curl, CURLOPT_UPLOAD, 1L);
	(void)curl_easy_setopt(curl, CURLOPT_EXPECT_100_TIMEOUT_MS, 15000L);
	(void)curl_easy_setopt(curl, CURLOPT_INFILESIZE_LARGE, (curl_off_t)10 * 1024 * 1024 * 1024);
	(void)curl_easy_setopt(curl, CURLOPT_READFUNCTION, never_called);
	(void)curl_easy_setopt(curl, CURLOPT_READDATA, &was_sent);
	assert_int_equal(perform(curl, &answer), CURLE_OK);
	assert_int_equal(answer.status, 413);
	assert_false(was_sent);
	curl_easy_cleanup(curl);
	curl_slist_free_all(headers);
}

/* Yields @remaining bytes of @byte. */
struct source {
	uint64_t remaining;
	char byte;
};

static size_t yield_bytes(char *data, size_t size, size_t count, void *arg)
{
	struct source *source = arg;
	size_t given = MIN((uint64_t)(size * count), source->remaining);

	memset(data, source->byte, given);
	source->remaining -= given;
	return given;
}

static CURLcode upload(const struct site *site, const char *path, struct source *source,
		       bool say_size, struct answer *answer)
{
	struct curl_slist *headers = curl_slist_append(NULL, "Expect:");
	CURL *curl = new_request(site, "PUT", path);
	CURLcode code;

	(void)curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
	(void)curl_easy_setopt(curl, CURLOPT_UPLOAD, 1L);
	if (say_size)
		(void)curl_easy_setopt(curl, CURLOPT_INFILESIZE_LARGE,
				       (curl_off_t)source->remaining);
	(void)curl_easy_setopt(curl, CURLOPT_READFUNCTION, yield_bytes);
	(void)curl_easy_setopt(curl, CURLOPT_READDATA, source);
	code = perform(curl, answer);
	curl_easy_cleanup(curl);
	curl_slist_free_all(headers);
	return code;
}

static void a_large_upload_is_streamed(void **state)
{
	for (unsigned int say_size = 0; say_size < 2; say_size++) {
		struct source source = { .remaining = 20 * MIB, .byte = 'x' };
		scoped(answer_release) struct answer answer;

		assert_int_equal(upload(*state, "/stream/x", &source, say_size, &answer), CURLE_OK);
		assert_int_equal(answer.status, 200);
		assert_string_equal(text_of(&answer.body), "20971520");
	}
}

static void a_refused_upload_gets_the_reason(void **state)
{
	static const struct {
		const char *path;
		struct source source;
		long status;
	} cases[] = {
		{ "/stream/refuse", { .remaining = 50000, .byte = 'x' }, 400 },
		{ "/stream/x", { .remaining = 300000, .byte = '!' }, 507 },
		{ "/stream/x", { .remaining = 0, .byte = 'x' }, 200 },
	};
	struct site *site = *state;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		scoped(answer_release) struct answer answer;
		struct source source = cases[i].source;

		assert_int_equal(upload(site, cases[i].path, &source, true, &answer), CURLE_OK);
		assert_int_equal(answer.status, cases[i].status);
	}
}

static size_t abort_half_way(char *data, size_t size, size_t count, void *arg)
{
	struct source *source = arg;

	return source->remaining < MIB ? CURL_READFUNC_ABORT : yield_bytes(data, size, count, arg);
}

static void wait_until_zero(atomic_uint *number)
{
	const struct timespec pause = { .tv_nsec = 1000000 };

	for (unsigned int i = 0; i < 10000 && atomic_load(number) != 0; i++)
		(void)nanosleep(&pause, NULL);
	assert_int_equal(atomic_load(number), 0);
}

static void an_interrupted_upload_is_freed(void **state)
{
	struct source source = { .remaining = 2 * MIB, .byte = 'x' };
	CURL *curl = new_request(*state, "PUT", "/stream/x");
	scoped(answer_release) struct answer answer;
	struct site *site = *state;

	(void)curl_easy_setopt(curl, CURLOPT_UPLOAD, 1L);
	(void)curl_easy_setopt(curl, CURLOPT_INFILESIZE_LARGE, (curl_off_t)(2 * MIB));
	(void)curl_easy_setopt(curl, CURLOPT_READFUNCTION, abort_half_way);
	(void)curl_easy_setopt(curl, CURLOPT_READDATA, &source);
	assert_int_equal(perform(curl, &answer), CURLE_ABORTED_BY_CALLBACK);
	curl_easy_cleanup(curl);
	wait_until_zero(&site->streams_open);
}

/* Opens a connection, sends @text and closes the connection at once. */
static void send_and_disconnect(const struct site *site, const char *text)
{
	scoped_fd int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	const struct sockaddr_in address = {
		.sin_family = AF_INET,
		.sin_port = htons((uint16_t)site->port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};

	assert_true(fd >= 0);
	assert_int_equal(connect(fd, (const struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
}

static void a_client_that_disconnects_early_is_detected_at_once(void **state)
{
	const struct timespec pause = { .tv_nsec = 1000000 };
	enum { N_CLIENTS = 40 };
	struct site *site = *state;

	for (unsigned int i = 0; i < N_CLIENTS; i++)
		send_and_disconnect(site, "PUT /stream/x HTTP/1.1\r\nHost: 127.0.0.1\r\n"
					  "Content-Length: 100000\r\n\r\nhalf");
	/* Wait until all connections are accepted and counted. From here on the count only
	 * falls. */
	for (unsigned int i = 0; i < 10000 && atomic_load(&site->streams_begun) < N_CLIENTS; i++)
		(void)nanosleep(&pause, NULL);
	assert_int_equal(atomic_load(&site->streams_begun), N_CLIENTS);
	for (unsigned int i = 0; i < 10000 && http_server_connections(site->server) > 0; i++)
		(void)nanosleep(&pause, NULL);
	assert_int_equal(http_server_connections(site->server), 0);
	wait_until_zero(&site->streams_open);
}

#define HASH_A "8766b9cb08e6040b704f1e3ee1e186efccf2635b1d2634d6525333007e6aeae1"

static void with_tokens_the_scopes_decide(void **state)
{
	static const char tokens[] = "tokens: [{name: reader, sha256: " HASH_A ", scopes: [read]}]";
	static const char good[] = "Authorization: Bearer secret-a";
	char folder[] = "/tmp/hearth-test-XXXXXX", message[AUTH_MESSAGE_SIZE];
	scoped(answer_release) struct answer missing, forbidden;
	struct site *site = *state;
	scoped_free char *path = NULL;

	assert_non_null(mkdtemp(folder));
	path = write_file_in(folder, "tokens", tokens, strlen(tokens));
	assert_ok(auth_load(site->auth, path, message));
	assert_int_equal(unlink(path), 0);
	assert_int_equal(rmdir(folder), 0);

	ask(site, "GET", "/hello/x", NULL, NULL, &missing);
	assert_int_equal(missing.status, 401);
	assert_non_null(
		strstr(text_of(&missing.headers), "WWW-Authenticate: Bearer realm=\"hearth\"\r\n"));
	assert_non_null(strstr(text_of(&missing.body), "Authorization: Bearer TOKEN"));
	assert_status(site, "GET", "/hello/x", "Authorization: Bearer nonsense", NULL, 401);
	assert_status(site, "GET", "/hello/x", good, NULL, 200);
	ask(site, "DELETE", "/hello/x", good, NULL, &forbidden);
	assert_int_equal(forbidden.status, 403);
	assert_non_null(strstr(text_of(&forbidden.body), "'reader'"));
	assert_non_null(strstr(text_of(&forbidden.body), "upload, admin"));
	/* Routes without scopes need no token, and ignore an unknown one. */
	assert_status(site, "GET", "/", NULL, NULL, 200);
	assert_status(site, "GET", "/", "Authorization: Bearer nonsense", NULL, 200);
}

static void without_tokens_pages_of_other_sites_are_refused(void **state)
{
	assert_status(*state, "GET", "/large", "Host: evil.example.com", NULL, 403);
	assert_status(*state, "POST", "/echo", "Origin: https://evil.example.com", "x", 403);
	assert_status(*state, "GET", "/large", "Host: localhost", NULL, 200);
}

static void other_addresses_need_tokens_or_insecure(void **state)
{
	char message[HTTP_SERVER_MESSAGE_SIZE] = "";
	struct site *site;

	(void)state;
	assert_int_equal(site_new(&site), 0);
	assert_errno(start(site, "127.0.0.1:0\n0.0.0.0:0", false, message), -EPERM);
	assert_non_null(strstr(message, "'0.0.0.0:0'"));
	assert_non_null(strstr(message, "--tokens"));
	assert_non_null(strstr(message, "--insecure"));
	assert_ok(start(site, "127.0.0.1:0\n0.0.0.0:0", true, message));
	assert_status(site, "GET", "/large", "Host: any.example.com", NULL, 200);
	(void)site_teardown((void **)&site);
}

static void a_port_in_use_fails_with_one_message(void **state)
{
	const struct site *first = *state;
	char message[HTTP_SERVER_MESSAGE_SIZE] = "", listen[64];
	struct site *second;

	(void)snprintf(listen, sizeof(listen), "127.0.0.1:%u", http_server_port(first->server));
	assert_int_equal(site_new(&second), 0);
	assert_errno(start(second, listen, false, message), -EADDRINUSE);
	assert_non_null(strstr(message, listen));
	assert_non_null(strstr(message, "--port"));
	(void)site_teardown((void **)&second);
}

struct visit {
	const struct site *site;
	struct answer answer;
};

static void *visit_gate(void *arg)
{
	struct visit *visit = arg;

	ask(visit->site, "GET", "/gate", NULL, NULL, &visit->answer);
	return NULL;
}

static void a_slow_handler_does_not_delay_other_requests(void **state)
{
	struct site *site = *state;
	struct visit visit = { .site = site };
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, visit_gate, &visit), 0);
	/* More connections than I/O threads, so that one of them shares its thread with the
	 * connection at the gate. */
	for (unsigned int i = 0; i < 12; i++)
		assert_status(site, "GET", "/hello/x", NULL, NULL, 200);
	(void)pthread_barrier_wait(&site->gate);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_string_equal(text_of(&visit.answer.body), "through");
	answer_release(&visit.answer);
}

struct held_visit {
	const struct site *site;
	struct answer answer;
	atomic_uint *n_refused;
};

static void *visit_hold(void *arg)
{
	struct held_visit *visit = arg;

	ask(visit->site, "GET", "/hold", NULL, NULL, &visit->answer);
	if (visit->answer.status == 503)
		atomic_fetch_add(visit->n_refused, 1);
	return NULL;
}

static void a_full_lane_refuses_requests_and_other_lanes_serve_theirs(void **state)
{
	enum { N_SERVED = N_WORKERS + MAX_WAITING, N_REFUSED = 3, N_VISITS = N_SERVED + N_REFUSED };
	struct held_visit visits[N_VISITS];
	pthread_t threads[N_VISITS];
	scoped(answer_release) struct answer elsewhere;
	struct site *site = *state;
	atomic_uint n_refused = 0;
	unsigned int n_served = 0;

	for (unsigned int i = 0; i < N_VISITS; i++) {
		visits[i] = (struct held_visit){ .site = site, .n_refused = &n_refused };
		assert_int_equal(pthread_create(&threads[i], NULL, visit_hold, &visits[i]), 0);
		/* Occupy all workers of the lane first, then fill its queue. */
		while (i < N_WORKERS && atomic_load(&site->holding) <= i)
			(void)sched_yield();
	}
	while (atomic_load(&n_refused) < N_REFUSED)
		(void)sched_yield();
	ask(site, "GET", "/", NULL, NULL, &elsewhere);

	for (unsigned int i = 0; i < N_SERVED; i++)
		(void)sem_post(&site->leaves);
	for (unsigned int i = 0; i < N_VISITS; i++) {
		assert_int_equal(pthread_join(threads[i], NULL), 0);
		n_served += visits[i].answer.status == 200;
		if (visits[i].answer.status == 503)
			assert_non_null(
				strstr(text_of(&visits[i].answer.headers), "Retry-After: 5"));
		answer_release(&visits[i].answer);
	}
	assert_int_equal(elsewhere.status, 200);
	assert_int_equal(n_served, N_SERVED);
	assert_int_equal(n_refused, N_REFUSED);
}

/* Opens the gate when the server accepts no more connections, because it is stopping. */
static void *open_gate_late(void *arg)
{
	CURLcode code = CURLE_OK;
	struct site *site = arg;

	while (code != CURLE_COULDNT_CONNECT) {
		CURL *curl = new_request(site, "GET", "/");
		struct answer answer;

		code = perform(curl, &answer);
		answer_release(&answer);
		curl_easy_cleanup(curl);
	}
	(void)pthread_barrier_wait(&site->gate);
	return NULL;
}

static void a_stop_finishes_started_requests(void **state)
{
	struct site *site = *state;
	struct visit visit = { .site = site };
	pthread_t visitor, opener;

	assert_int_equal(pthread_create(&visitor, NULL, visit_gate, &visit), 0);
	while (!atomic_load(&site->at_gate))
		(void)sched_yield();
	assert_int_equal(pthread_create(&opener, NULL, open_gate_late, site), 0);
	(void)http_server_free(site->server);
	assert_int_equal(pthread_join(opener, NULL), 0);
	assert_int_equal(pthread_join(visitor, NULL), 0);
	site->server = NULL;
	assert_string_equal(text_of(&visit.answer.body), "through");
	answer_release(&visit.answer);
}

/* Starting and stopping takes up to 0.1 s with sanitizers: threads and their stacks. */
#define N_STOPS 250

struct short_client {
	atomic_uint port;
	atomic_bool stopped;
};

/* Opens and closes connections until it is stopped. */
static void *connect_until_stopped(void *arg)
{
	struct short_client *short_client = arg;
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };

	while (!atomic_load(&short_client->stopped)) {
		int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

		address.sin_port = htons((uint16_t)atomic_load(&short_client->port));
		(void)connect(fd, (const struct sockaddr *)&address, sizeof(address));
		(void)close(fd);
	}
	return NULL;
}

/*
 * Stopping must not race with the library's threads on the listening socket. Such a race sometimes
 * ended the process (see close_listener()).
 */
static void a_stop_is_safe_at_any_moment(void **state)
{
	struct short_client short_client = {};
	pthread_t thread;

	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, connect_until_stopped, &short_client), 0);
	for (unsigned int i = 0; i < N_STOPS; i++) {
		void *site;

		assert_int_equal(site_setup(&site), 0);
		atomic_store(&short_client.port, http_server_port(((struct site *)site)->server));
		(void)usleep(i % 32 * 20);
		assert_int_equal(site_teardown(&site), 0);
	}
	atomic_store(&short_client.stopped, true);
	assert_int_equal(pthread_join(thread, NULL), 0);
}

static void requests_are_counted(void **state)
{
	struct site *site = *state;
	scoped(bytes_release) struct bytes out = BYTES_INIT(100000);

	assert_status(site, "GET", "/hello/x", NULL, NULL, 200);
	assert_status(site, "GET", "/nothing", NULL, NULL, 404);
	site->server = http_server_free(site->server);
	route_metrics_print(site->metrics, "", &out);
	assert_ok(bytes_append_byte(&out, '\0'));
	assert_non_null(
		strstr(text_of(&out),
		       "requests_total{route=\"/hello/*\",method=\"GET\",class=\"2xx\"} 1\n"));
	assert_non_null(strstr(text_of(&out),
			       "requests_total{route=\"unknown\",method=\"\",class=\"4xx\"} 1\n"));
}

#define SITE_TEST(name) cmocka_unit_test_setup_teardown(name, site_setup, site_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		SITE_TEST(a_get_is_answered_by_its_handler),
		SITE_TEST(a_head_has_the_headers_of_a_get_and_no_body),
		SITE_TEST(a_head_can_have_a_length_without_a_body),
		SITE_TEST(a_file_is_sent_as_it_is),
		SITE_TEST(a_large_answer_is_compressed_if_the_client_accepts_it),
		SITE_TEST(an_answer_beyond_its_limit_is_an_error_that_says_so),
		SITE_TEST(a_connection_serves_one_request_after_another),
		SITE_TEST(unknown_paths_and_wrong_methods_differ),
		SITE_TEST(a_body_beyond_the_limit_is_refused),
		SITE_TEST(a_body_declared_too_large_is_refused_before_it_is_sent),
		SITE_TEST(a_large_upload_is_streamed),
		SITE_TEST(a_refused_upload_gets_the_reason),
		SITE_TEST(an_interrupted_upload_is_freed),
		SITE_TEST(a_client_that_disconnects_early_is_detected_at_once),
		SITE_TEST(with_tokens_the_scopes_decide),
		SITE_TEST(without_tokens_pages_of_other_sites_are_refused),
		cmocka_unit_test(other_addresses_need_tokens_or_insecure),
		SITE_TEST(a_port_in_use_fails_with_one_message),
		SITE_TEST(a_slow_handler_does_not_delay_other_requests),
		SITE_TEST(a_full_lane_refuses_requests_and_other_lanes_serve_theirs),
		SITE_TEST(a_stop_finishes_started_requests),
		cmocka_unit_test(a_stop_is_safe_at_any_moment),
		SITE_TEST(requests_are_counted),
	};

	(void)curl_global_init(CURL_GLOBAL_DEFAULT);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
