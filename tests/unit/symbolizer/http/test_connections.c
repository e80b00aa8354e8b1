/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Tests the limits on connections of clients without a token, over real sockets on loopback.
 */

#include "symbolizer/http/connections.h"

#include <netinet/tcp.h>
#include <time.h>

#include "tests/unit/symbolizer/http/socket_fixture.h"

static void requests_with_ambiguous_framing_are_refused_and_end_the_connection(void **state)
{
	static const char *const requests[] = {
		"GET / HTTP/1.1\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n\r\n",
		"POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nContent-Length: "
		"2\r\n\r\nx",
		"POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\n"
		"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		"POST /echo HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: gzip\r\n\r\nx",
	};

	for (size_t i = 0; i < ARRAY_SIZE(requests); i++)
		expect_last_answer(*state, requests[i], "HTTP/1.1 400 ");
}

static void a_refusal_does_not_wait_for_the_body(void **state)
{
	static const struct {
		const char *request, *status;
	} cases[] = {
		{ "DELETE /hello/x HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n",
		  "HTTP/1.1 401 " },
		{ "DELETE /hello/x HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n"
		  "Authorization: Bearer secret-a\r\n\r\n",
		  "HTTP/1.1 403 " },
		{ "DELETE /hello/x HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: "
		  "chunked\r\n\r\n",
		  "HTTP/1.1 401 " },
		{ "POST /nothing HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n",
		  "HTTP/1.1 404 " },
	};

	use_tokens(*state);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		expect_last_answer(*state, cases[i].request, cases[i].status);
}

/*
 * The socket buffers are smaller than the body. Therefore the server must read on after its answer;
 * otherwise a reset interrupts the client.
 */
static void a_client_that_sends_a_whole_refused_body_receives_the_refusal(void **state)
{
	enum { N_CLIENTS = 5, BODY_BYTES = 1000000, BUFFER_BYTES = 16384 };
	const int buffer_bytes = BUFFER_BYTES;
	scoped_free char *request = malloc(BODY_BYTES + 200);
	size_t size;

	assert_non_null(request);
	size = (size_t)snprintf(
		request, 200,
		"DELETE /hello/x HTTP/1.1\r\nHost: localhost\r\nContent-Length: %u\r\n\r\n",
		BODY_BYTES);
	memset(request + size, 'x', BODY_BYTES);
	use_tokens(*state);
	for (unsigned int i = 0; i < N_CLIENTS; i++) {
		scoped(bytes_release) struct bytes answer = BYTES_INIT(MIB);
		scoped_fd int fd = connect_from(*state, "127.0.0.1");

		assert_int_equal(
			setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &buffer_bytes, sizeof(buffer_bytes)),
			0);
		assert_true(send_all(fd, request, size + BODY_BYTES));
		read_all(fd, &answer);
		assert_memory_equal(answer.data, "HTTP/1.1 401 ", 13);
	}
}

/* Sends a byte every 10 ms until the server ends the connection. */
static void drip_until_closed(int fd)
{
	const struct timespec pause = { .tv_nsec = 10000000 };
	char byte;

	for (unsigned int i = 0; i < PATIENCE_S * 100; i++) {
		if (!send_all(fd, "x", 1) || recv(fd, &byte, 1, MSG_DONTWAIT) == 0)
			return;
		(void)nanosleep(&pause, NULL);
	}
	fail_msg("the server did not close the connection within %u s", PATIENCE_S);
}

static void drip(struct site *site, const char *beginning)
{
	scoped_fd int fd = connect_from(site, "127.0.0.1");

	assert_true(send_all(fd, beginning, strlen(beginning)));
	drip_until_closed(fd);
}

static void a_slow_header_ends_the_connection(void **state)
{
	struct site *site = *state;

	start_with(site, (struct http_client_limits){ .header_timeout_ns = 300 * NSEC_PER_MSEC });
	drip(site, "GET / HTTP/1.1\r\nHost: localhost\r\nX-Long: ");
	expect_metric(site, "http_connections_closed_total{reason=\"header_timeout\"} 1\n");
	/* The limit also applies if no byte was sent. */
	drip(site, "");
	expect_metric(site, "http_connections_closed_total{reason=\"header_timeout\"} 2\n");
	assert_status(site, "GET", "/", NULL, NULL, 200);
}

static void a_slow_body_ends_the_connection(void **state)
{
	const struct http_client_limits limits = { .body_grace_ns = 300 * NSEC_PER_MSEC,
						   .body_min_rate = MIB };
	struct site *site = *state;

	start_with(site, limits);
	drip(site, "PUT /stream/x HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\n");
	drip(site, "POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n");
	expect_metric(site, "http_connections_closed_total{reason=\"slow_body\"} 2\n");
	wait_until(atomic_load(&site->streams_open) == 0);
}

/* Whether the server has reset the connection of the client's socket @fd. */
static bool is_reset(int fd)
{
	struct tcp_info info = {};
	socklen_t size = sizeof(info);

	assert_ok(getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size));
	return info.tcpi_state == TCP_CLOSE;
}

static void an_answer_that_is_not_read_is_reset(void **state)
{
	const struct http_client_limits limits = { .body_grace_ns = 300 * NSEC_PER_MSEC,
						   .answer_min_rate = MIB };
	static const char request[] = "GET /huge HTTP/1.1\r\nHost: localhost\r\n\r\n";
	scoped(bytes_release) struct bytes begun = BYTES_INIT(2 * HUGE_BYTES);
	struct site *site = *state;
	scoped_fd int fd = -1;
	char piece[4096];
	ssize_t size;

	start_with(site, limits);
	fd = connect_from(site, "127.0.0.1");
	assert_true(send_all(fd, request, strlen(request)));
	expect_metric(site, "http_connections_closed_total{reason=\"slow_reader\"} 1\n");
	/* The request is finished, so the memory of the answer is free. */
	expect_metric(site,
		      "http_requests_total{route=\"/huge\",method=\"GET\",class=\"aborted\"} 1\n");
	/* Reading before the library closes its socket would let the rest of the answer arrive. */
	wait_until(is_reset(fd));
	while ((size = recv(fd, piece, sizeof(piece), 0)) > 0)
		assert_ok(bytes_append(&begun, piece, (size_t)size));
	assert_int_equal(size, -1);
	assert_int_equal(errno, ECONNRESET);
	assert_true(begun.size < HUGE_BYTES);
}

static void the_memory_of_unread_answers_is_bounded(void **state)
{
	static const char request[] = "GET /huge HTTP/1.1\r\nHost: localhost\r\n\r\n";
	struct site *site = *state;
	scoped_fd int fd = -1;
	char byte;

	site->max_held_answer_bytes = HUGE_BYTES + HUGE_BYTES / 2;
	start_with(site, (struct http_client_limits){});
	fd = connect_from(site, "127.0.0.1");
	assert_true(send_all(fd, request, strlen(request)));
	assert_int_equal(recv(fd, &byte, 1, 0), 1);
	expect_last_answer(site,
			   "GET /huge HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
			   "HTTP/1.1 503 ");
	assert_status(site, "GET", "/", NULL, NULL, 200);
	assert_int_equal(close(take_fd(fd)), 0);
	expect_metric(site,
		      "http_requests_total{route=\"/huge\",method=\"GET\",class=\"aborted\"} 1\n");
	expect_last_answer(site, "GET /huge HTTP/1.0\r\n\r\n", "HTTP/1.1 200 ");
}

static void a_client_that_reads_receives_the_whole_answer(void **state)
{
	const struct http_client_limits limits = { .body_grace_ns = 20 * NSEC_PER_SEC,
						   .answer_min_rate = KIB };
	static const char request[] =
		"GET /huge HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
	scoped(bytes_release) struct bytes answer = BYTES_INIT(2 * HUGE_BYTES);
	struct site *site = *state;
	scoped_fd int fd = -1;

	start_with(site, limits);
	fd = connect_from(site, "127.0.0.1");
	assert_true(send_all(fd, request, strlen(request)));
	read_all(fd, &answer);
	assert_true(answer.size > HUGE_BYTES);
}

/* The refusal must not wait for the end of the body of 30 MB. */
static void an_upload_can_be_refused_before_its_end(void **state)
{
	static const char *const heads[] = {
		"PUT /stream/x HTTP/1.1\r\nHost: localhost\r\nContent-Length: 30000000\r\n\r\n!",
		"PUT /stream/x HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: "
		"chunked\r\n\r\n1\r\n!\r\n",
		"PUT /stream/x HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\n"
		"Content-Length: 30000000\r\n\r\n!",
	};
	static const char interim[] = "HTTP/1.1 100 Continue\r\n\r\n";
	struct site *site = *state;

	for (size_t i = 0; i < ARRAY_SIZE(heads); i++) {
		scoped(bytes_release) struct bytes answer = BYTES_INIT(MIB);
		scoped_fd int fd = connect_from(site, "127.0.0.1");
		const char *text;

		assert_true(send_all(fd, heads[i], strlen(heads[i])));
		read_all(fd, &answer);
		text = text_of(&answer);
		if (strncmp(text, interim, strlen(interim)) == 0)
			text += strlen(interim);
		assert_memory_equal(text, "HTTP/1.1 507 ", 13);
		assert_non_null(strstr(text, "\r\nConnection: close\r\n"));
		assert_non_null(strstr(text, "{\"error\":\"refused in the middle\"}"));
	}
	expect_metric(site,
		      "http_requests_total{route=\"/stream/*\",method=\"PUT\",class=\"5xx\"} 3\n");
	wait_until(atomic_load(&site->streams_open) == 0);
}

static void a_request_has_no_deadline_while_its_handler_runs(void **state)
{
	const struct http_client_limits limits = { .header_timeout_ns = 300 * NSEC_PER_MSEC,
						   .body_grace_ns = 300 * NSEC_PER_MSEC,
						   .body_min_rate = MIB };
	static const char request[] =
		"GET /gate HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
	scoped(bytes_release) struct bytes answer = BYTES_INIT(MIB);
	struct site *site = *state;
	scoped_fd int fd = -1;

	start_with(site, limits);
	fd = connect_from(site, "127.0.0.1");
	assert_true(send_all(fd, request, strlen(request)));
	wait_until(atomic_load(&site->at_gate));
	/*
	 * This connection is opened later and closed at its deadline: by then, as much time has
	 * passed for the request at the gate.
	 */
	drip(site, "GET / HTTP/1.1\r\nX-Long: ");
	(void)pthread_barrier_wait(&site->gate);
	read_all(fd, &answer);
	assert_non_null(strstr(text_of(&answer), "through"));
}

/* Two requests more than workers: these two wait, and are never started. */
static void a_client_that_closes_its_connection_frees_the_worker(void **state)
{
	static const char request[] = "GET /long HTTP/1.1\r\nHost: localhost\r\n\r\n";
	struct site *site = *state;
	int fds[N_WORKERS + MAX_WAITING];
	scoped_fd int stays = -1;

	for (size_t i = 0; i < ARRAY_SIZE(fds); i++) {
		fds[i] = connect_from(site, "127.0.0.1");
		assert_true(send_all(fds[i], request, strlen(request)));
		/* So that the first ones run, and the others wait. */
		if (i < N_WORKERS)
			wait_until(atomic_load(&site->holding) >= i + 1);
	}
	for (size_t i = ARRAY_SIZE(fds); i-- > 0;)
		(void)close(fds[i]);
	wait_until(atomic_load(&site->canceled) >= N_WORKERS);

	/* The connections of waiting requests are closed too: the queue has room again. */
	stays = connect_from(site, "127.0.0.1");
	assert_true(send_all(stays, request, strlen(request)));
	wait_until(atomic_load(&site->holding) >= N_WORKERS + 1);
	assert_int_equal(site->canceled, N_WORKERS);
	assert_int_equal(shutdown(stays, SHUT_WR), 0);
	wait_until(atomic_load(&site->canceled) >= N_WORKERS + 1);
}

static void received_bytes_extend_the_deadline_up_to_the_grace(void **state)
{
	const struct http_client_limits limits = { .body_grace_ns = 20 * NSEC_PER_SEC,
						   .body_min_rate = 1000 };
	const struct {
		uint64_t deadline_s, now_s, bytes, expected_s;
	} cases[] = {
		{ 120, 100, 1000, 120 }, /* never exceeds the grace */
		{ 120, 110, 1000, 121 },   { 120, 110, 9000, 129 },       { 120, 110, 10000, 130 },
		{ 120, 110, 500000, 130 }, { 120, 110, UINT64_MAX, 130 }, { 120, 125, 1000, 121 },
		{ 120, 110, 0, 120 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_int_equal(connection_deadline(cases[i].deadline_s * NSEC_PER_SEC,
						     cases[i].now_s * NSEC_PER_SEC, cases[i].bytes,
						     limits.body_min_rate, limits.body_grace_ns),
				 cases[i].expected_s * NSEC_PER_SEC);
}

static void the_largest_rate_and_grace_do_not_overflow(void **state)
{
	const uint64_t hour_ns = 3600 * NSEC_PER_SEC;

	(void)state;
	assert_int_equal(connection_deadline(0, hour_ns, GIB - 1, GIB, hour_ns), NSEC_PER_SEC - 1);
	assert_int_equal(connection_deadline(0, hour_ns, 3600 * GIB - 1, GIB, hour_ns),
			 hour_ns - 1);
	assert_int_equal(connection_deadline(hour_ns, hour_ns, UINT64_MAX, GIB, hour_ns),
			 2 * hour_ns);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		SITE_TEST(requests_with_ambiguous_framing_are_refused_and_end_the_connection),
		SITE_TEST(a_refusal_does_not_wait_for_the_body),
		SITE_TEST(a_client_that_sends_a_whole_refused_body_receives_the_refusal),
		IDLE_TEST(a_slow_header_ends_the_connection),
		IDLE_TEST(a_slow_body_ends_the_connection),
		IDLE_TEST(an_answer_that_is_not_read_is_reset),
		IDLE_TEST(the_memory_of_unread_answers_is_bounded),
		IDLE_TEST(a_client_that_reads_receives_the_whole_answer),
		SITE_TEST(an_upload_can_be_refused_before_its_end),
		IDLE_TEST(a_request_has_no_deadline_while_its_handler_runs),
		SITE_TEST(a_client_that_closes_its_connection_frees_the_worker),
		cmocka_unit_test(received_bytes_extend_the_deadline_up_to_the_grace),
		cmocka_unit_test(the_largest_rate_and_grace_do_not_overflow),
	};

	(void)curl_global_init(CURL_GLOBAL_DEFAULT);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
