/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Tests the limits on connections of clients without a token, over real sockets on loopback.
 */

#include "symbolizer/http/connections.h"

#include <arpa/inet.h>
#include <poll.h>
#include <sys/socket.h>
#include <time.h>

#include "tests/unit/symbolizer/http/site_fixture.h"

/* Long enough for a machine that runs other tests. */
#define PATIENCE_S 60

#define HASH_A "8766b9cb08e6040b704f1e3ee1e186efccf2635b1d2634d6525333007e6aeae1"
#define HASH_B "ff492ef788c89b555e6f738b33d2422f57dbb6656af2402155672c5f123a90af"

static int connect_from(const struct site *site, const char *client)
{
	struct sockaddr_in address = { .sin_family = AF_INET };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct timeval patience = { .tv_sec = PATIENCE_S };

	assert_true(fd >= 0);
	assert_int_equal(inet_pton(AF_INET, client, &address.sin_addr), 1);
	assert_int_equal(bind(fd, (const struct sockaddr *)&address, sizeof(address)), 0);
	address.sin_port = htons((uint16_t)site->port);
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	assert_int_equal(connect(fd, (const struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)), 0);
	return fd;
}

static bool send_all(int fd, const char *text, size_t size)
{
	while (size > 0) {
		ssize_t sent = send(fd, text, size, MSG_NOSIGNAL);

		if (sent < 0)
			return false;
		text += sent;
		size -= (size_t)sent;
	}
	return true;
}

/* Reads to the end of the connection, which must not be a reset. */
static void read_all(int fd, struct bytes *ret_answer)
{
	char piece[4096];
	ssize_t size;

	while ((size = recv(fd, piece, sizeof(piece), 0)) > 0)
		assert_ok(bytes_append(ret_answer, piece, (size_t)size));
	if (size < 0)
		fail_msg("the answer ends with: %s", strerror(errno));
	assert_ok(bytes_append_byte(ret_answer, '\0'));
}

/* Sends @text, and expects an answer with @status and the end of the connection. */
static void expect_last_answer(const struct site *site, const char *text, const char *status)
{
	scoped(bytes_release) struct bytes answer = BYTES_INIT(2 * HUGE_BYTES);
	scoped_fd int fd = connect_from(site, "127.0.0.1");

	assert_true(send_all(fd, text, strlen(text)));
	read_all(fd, &answer);
	if (strncmp(text_of(&answer), status, strlen(status)) != 0 ||
	    !strstr(text_of(&answer), "\r\nConnection: close\r\n"))
		fail_msg("'%s' was answered with '%s'", text, text_of(&answer));
}

static void use_tokens(struct site *site)
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

static void start_with(struct site *site, struct http_client_limits limits)
{
	char message[HTTP_SERVER_MESSAGE_SIZE];

	site->limits = limits;
	if (start(site, "127.0.0.1:0", false, message) < 0)
		fail_msg("%s", message);
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

/* The counter is incremented a moment after the connection is closed. */
static void expect_metric(struct site *site, const char *line)
{
	const struct timespec pause = { .tv_nsec = 10000000 };

	for (unsigned int i = 0; i < PATIENCE_S * 100; i++) {
		scoped(bytes_release) struct bytes out = BYTES_INIT(100000);

		route_metrics_print(site->metrics, "", &out);
		assert_ok(bytes_append_byte(&out, '\0'));
		if (strstr(text_of(&out), line))
			return;
		(void)nanosleep(&pause, NULL);
	}
	fail_msg("never: %s", line);
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
	for (unsigned int i = 0; i < PATIENCE_S * 100 && atomic_load(&site->streams_open) > 0; i++)
		(void)usleep(10000);
	assert_int_equal(atomic_load(&site->streams_open), 0);
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
	for (unsigned int i = 0; i < PATIENCE_S * 100 && atomic_load(&site->streams_open) > 0; i++)
		(void)usleep(10000);
	assert_int_equal(atomic_load(&site->streams_open), 0);
}

static int send_request_of(const struct site *site, const char *path, const char *secret)
{
	int fd = connect_from(site, "127.0.0.1");
	char request[256];

	(void)snprintf(request, sizeof(request),
		       "GET %s HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\n"
		       "Connection: close\r\n\r\n",
		       path, secret);
	assert_true(send_all(fd, request, strlen(request)));
	return fd;
}

static void expect_answer_of(const struct site *site, const char *path, const char *secret,
			     const char *status)
{
	scoped(bytes_release) struct bytes answer = BYTES_INIT(MIB);
	scoped_fd int fd = send_request_of(site, path, secret);

	read_all(fd, &answer);
	if (!strstr(text_of(&answer), status))
		fail_msg("'%s' with '%s': %s", path, secret, text_of(&answer));
}

static void wait_for_holding(struct site *site, unsigned int count)
{
	for (unsigned int i = 0; i < PATIENCE_S * 1000; i++) {
		if (atomic_load(&site->holding) >= count)
			return;
		(void)usleep(1000);
	}
	fail_msg("%u requests are held, expected %u", atomic_load(&site->holding), count);
}

static void a_token_may_have_a_share_of_the_requests(void **state)
{
	struct site *site = *state;
	scoped_fd int held = -1;

	use_tokens(site);
	start_with(site, (struct http_client_limits){ .max_requests_per_token = 1 });
	held = send_request_of(site, "/hold-for-readers", "secret-a");
	wait_for_holding(site, 1);
	expect_answer_of(site, "/hello/x", "secret-a", "HTTP/1.1 429 Too Many Requests\r\n");
	expect_answer_of(site, "/hello/x", "secret-a", "\r\nRetry-After: 5\r\n");
	expect_answer_of(site, "/hello/x", "secret-a", "token 'reader' has too many requests");
	expect_answer_of(site, "/hello/x", "secret-b", "HTTP/1.1 200 OK\r\n");
	expect_answer_of(site, "/", "secret-a", "HTTP/1.1 200 OK\r\n");
	expect_metric(site, "http_token_limit_total 3\n");
	(void)sem_post(&site->leaves);
	{
		scoped(bytes_release) struct bytes answer = BYTES_INIT(MIB);

		read_all(held, &answer);
	}
	expect_metric(site, "http_requests_total{route=\"/"
			    "hold-for-readers\",method=\"GET\",class=\"2xx\"} 1\n");
	expect_answer_of(site, "/hello/x", "secret-a", "HTTP/1.1 200 OK\r\n");
}

/* Two requests run and one waits. Of the third and fourth, whichever arrives last is refused. */
static void a_token_may_have_a_share_of_each_lane(void **state)
{
	enum { N_REQUESTS = N_WORKERS / 2 + MAX_WAITING / 2 + 1 };
	scoped(bytes_release) struct bytes answer = BYTES_INIT(MIB);
	struct pollfd requests[N_REQUESTS];
	struct site *site = *state;
	scoped_fd int other = -1;

	use_tokens(site);
	start_with(site, (struct http_client_limits){});
	for (unsigned int i = 0; i < N_REQUESTS; i++) {
		requests[i] = (struct pollfd){
			.fd = send_request_of(site, "/query-for-readers", "secret-a"),
			.events = POLLIN,
		};
		if (i < N_WORKERS / 2)
			wait_for_holding(site, i + 1);
	}
	assert_int_equal(poll(requests, N_REQUESTS, PATIENCE_S * 1000), 1);
	for (unsigned int i = 0; i < N_REQUESTS; i++)
		if (requests[i].revents)
			read_all(requests[i].fd, &answer);
	assert_non_null(strstr(text_of(&answer),
			       "token 'reader' has too many requests in lane 'query' already"));
	/* The other half of the workers is free. */
	other = send_request_of(site, "/query-for-readers", "secret-b");
	wait_for_holding(site, N_WORKERS / 2 + 1);
	for (unsigned int i = 0; i < N_REQUESTS; i++)
		(void)close(requests[i].fd);
}

static void a_token_may_use_half_of_the_memory_for_unread_answers(void **state)
{
	struct site *site = *state;
	scoped_fd int held = -1;
	char byte;

	use_tokens(site);
	site->max_held_answer_bytes = 3 * HUGE_BYTES;
	start_with(site, (struct http_client_limits){});
	held = send_request_of(site, "/huge-for-readers", "secret-a");
	assert_int_equal(recv(held, &byte, 1, 0), 1);
	expect_answer_of(site, "/huge-for-readers", "secret-a",
			 "token 'reader' has too many bytes of answers that were not read yet");
	expect_answer_of(site, "/large", "secret-b", "HTTP/1.1 200 OK\r\n");
	{
		scoped_fd int other = send_request_of(site, "/huge-for-readers", "secret-b");
		char status[13];

		assert_int_equal(recv(other, status, sizeof(status), MSG_WAITALL), sizeof(status));
		assert_memory_equal(status, "HTTP/1.1 200 ", sizeof(status));
	}
}

/* The upload beyond the limit is refused before its body is read. */
static void uploads_of_a_token_do_not_count_as_requests(void **state)
{
	static const char head[] =
		"PUT /stream-of-readers/x HTTP/1.1\r\nHost: localhost\r\n"
		"Authorization: Bearer secret-a\r\nContent-Length: 30000000\r\n\r\n";
	enum { MAX_UPLOADS = MAX_CONNECTIONS / 8 };
	struct site *site = *state;
	int held[MAX_UPLOADS];

	use_tokens(site);
	start_with(site, (struct http_client_limits){ .max_requests_per_token = 1 });
	for (unsigned int i = 0; i < MAX_UPLOADS; i++) {
		held[i] = connect_from(site, "127.0.0.1");
		assert_true(send_all(held[i], head, strlen(head)));
	}
	for (unsigned int i = 0;
	     i < PATIENCE_S * 100 && atomic_load(&site->streams_open) < MAX_UPLOADS; i++)
		(void)usleep(10000);
	expect_last_answer(site, head, "HTTP/1.1 429 ");
	expect_answer_of(site, "/hello/x", "secret-a", "HTTP/1.1 200 OK\r\n");
	assert_int_equal(atomic_load(&site->streams_begun), MAX_UPLOADS);
	for (unsigned int i = 0; i < MAX_UPLOADS; i++)
		(void)close(held[i]);
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
	for (unsigned int i = 0; i < PATIENCE_S * 1000 && !atomic_load(&site->at_gate); i++)
		(void)usleep(1000);
	assert_true(atomic_load(&site->at_gate));
	/*
	 * This connection is opened later and closed at its deadline: by then, as much time has
	 * passed for the request at the gate.
	 */
	drip(site, "GET / HTTP/1.1\r\nX-Long: ");
	(void)pthread_barrier_wait(&site->gate);
	read_all(fd, &answer);
	assert_non_null(strstr(text_of(&answer), "through"));
}

static void wait_for_count(const atomic_uint *count, unsigned int least)
{
	for (unsigned int i = 0; i < PATIENCE_S * 1000 && atomic_load(count) < least; i++)
		(void)usleep(1000);
	assert_true(atomic_load(count) >= least);
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
			wait_for_count(&site->holding, (unsigned int)i + 1);
	}
	for (size_t i = ARRAY_SIZE(fds); i-- > 0;)
		(void)close(fds[i]);
	wait_for_count(&site->canceled, N_WORKERS);

	/* The connections of waiting requests are closed too: the queue has room again. */
	stays = connect_from(site, "127.0.0.1");
	assert_true(send_all(stays, request, strlen(request)));
	wait_for_count(&site->holding, N_WORKERS + 1);
	assert_int_equal(site->canceled, N_WORKERS);
	assert_int_equal(shutdown(stays, SHUT_WR), 0);
	wait_for_count(&site->canceled, N_WORKERS + 1);
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

static void wait_for_connections(const struct site *site, unsigned int count)
{
	for (unsigned int i = 0; i < PATIENCE_S * 1000; i++) {
		if (http_server_connections(site->server) == count)
			return;
		(void)usleep(1000);
	}
	fail_msg("%u connections, expected %u", http_server_connections(site->server), count);
}

static void a_client_address_may_have_a_share_of_the_connections(void **state)
{
	enum { SHARE = 3 };
	struct site *site = *state;
	int held[SHARE];
	char byte;

	start_with(site, (struct http_client_limits){ .max_per_client = SHARE });
	for (unsigned int i = 0; i < SHARE; i++) {
		held[i] = connect_from(site, "127.0.0.2");
		wait_for_connections(site, i + 1);
	}
	for (unsigned int i = 0; i < 5; i++) {
		scoped_fd int refused = connect_from(site, "127.0.0.2");
		ssize_t size = recv(refused, &byte, 1, 0);

		assert_true(size == 0 || (size < 0 && errno == ECONNRESET));
	}
	expect_metric(site, "http_connections_closed_total{reason=\"client_limit\"} 5\n");
	assert_status(site, "GET", "/", NULL, NULL, 200);

	(void)close(held[0]);
	wait_for_connections(site, SHARE - 1);
	held[0] = connect_from(site, "127.0.0.2");
	wait_for_connections(site, SHARE);
	for (unsigned int i = 0; i < SHARE; i++)
		(void)close(held[i]);
}

static int idle_site_setup(void **state)
{
	return site_new((struct site **)state);
}

#define SITE_TEST(name) cmocka_unit_test_setup_teardown(name, site_setup, site_teardown)
#define IDLE_TEST(name) cmocka_unit_test_setup_teardown(name, idle_site_setup, site_teardown)

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
		IDLE_TEST(a_token_may_have_a_share_of_the_requests),
		IDLE_TEST(a_token_may_have_a_share_of_each_lane),
		IDLE_TEST(a_token_may_use_half_of_the_memory_for_unread_answers),
		IDLE_TEST(uploads_of_a_token_do_not_count_as_requests),
		IDLE_TEST(a_request_has_no_deadline_while_its_handler_runs),
		SITE_TEST(a_client_that_closes_its_connection_frees_the_worker),
		cmocka_unit_test(received_bytes_extend_the_deadline_up_to_the_grace),
		cmocka_unit_test(the_largest_rate_and_grace_do_not_overflow),
		IDLE_TEST(a_client_address_may_have_a_share_of_the_connections),
	};

	(void)curl_global_init(CURL_GLOBAL_DEFAULT);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
