/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Tests the server over real sockets on loopback, with libcurl as client.
 */

#include "symbolizer/http/server.h"

#include <arpa/inet.h>
#include <sched.h>
#include <sys/socket.h>

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

static void with_tokens_the_scopes_decide(void **state)
{
	static const char good[] = "Authorization: Bearer secret-a";
	scoped(answer_release) struct answer missing, forbidden;
	struct site *site = *state;

	use_tokens(site);
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
	const char *path;
	struct answer answer;
	atomic_uint *n_refused; /* or NULL */
};

static void *visit(void *arg)
{
	struct visit *visit = arg;

	ask(visit->site, "GET", visit->path, NULL, NULL, &visit->answer);
	if (visit->answer.status == 503)
		atomic_fetch_add(visit->n_refused, 1);
	return NULL;
}

static void a_slow_handler_does_not_delay_other_requests(void **state)
{
	struct site *site = *state;
	struct visit at_gate = { .site = site, .path = "/gate" };
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, visit, &at_gate), 0);
	/* More connections than I/O threads, so that one of them shares its thread with the
	 * connection at the gate. */
	for (unsigned int i = 0; i < 12; i++)
		assert_status(site, "GET", "/hello/x", NULL, NULL, 200);
	(void)pthread_barrier_wait(&site->gate);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_string_equal(text_of(&at_gate.answer.body), "through");
	answer_release(&at_gate.answer);
}

static void a_full_lane_refuses_requests_and_other_lanes_serve_theirs(void **state)
{
	enum { N_SERVED = N_WORKERS + MAX_WAITING, N_REFUSED = 3, N_VISITS = N_SERVED + N_REFUSED };
	struct visit visits[N_VISITS];
	pthread_t threads[N_VISITS];
	scoped(answer_release) struct answer elsewhere;
	struct site *site = *state;
	atomic_uint n_refused = 0;
	unsigned int n_served = 0;

	for (unsigned int i = 0; i < N_VISITS; i++) {
		visits[i] = (struct visit){ site, "/hold", {}, &n_refused };
		assert_int_equal(pthread_create(&threads[i], NULL, visit, &visits[i]), 0);
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
	struct visit at_gate = { .site = site, .path = "/gate" };
	pthread_t visitor, opener;

	assert_int_equal(pthread_create(&visitor, NULL, visit, &at_gate), 0);
	while (!atomic_load(&site->at_gate))
		(void)sched_yield();
	assert_int_equal(pthread_create(&opener, NULL, open_gate_late, site), 0);
	(void)http_server_free(site->server);
	assert_int_equal(pthread_join(opener, NULL), 0);
	assert_int_equal(pthread_join(visitor, NULL), 0);
	site->server = NULL;
	assert_string_equal(text_of(&at_gate.answer.body), "through");
	answer_release(&at_gate.answer);
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

	assert_status(site, "GET", "/hello/x", NULL, NULL, 200);
	assert_status(site, "GET", "/nothing", NULL, NULL, 404);
	site->server = http_server_free(site->server);
	assert_true(has_metric(
		site, "requests_total{route=\"/hello/*\",method=\"GET\",class=\"2xx\"} 1\n"));
	assert_true(has_metric(site,
			       "requests_total{route=\"unknown\",method=\"\",class=\"4xx\"} 1\n"));
}

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
