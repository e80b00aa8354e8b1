/* SPDX-License-Identifier: Apache-2.0 */

/* Tests that one token or address can use only its share of the server. */

#include <poll.h>

#include "tests/unit/symbolizer/http/socket_fixture.h"

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

static void a_token_is_limited_to_its_share_of_the_requests(void **state)
{
	struct site *site = *state;
	scoped_fd int held = -1;

	use_tokens(site);
	start_with(site, (struct http_client_limits){ .max_requests_per_token = 1 });
	held = send_request_of(site, "/hold-for-readers", "secret-a");
	wait_until(atomic_load(&site->holding) >= 1);
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

/*
 * Of one token, two requests may run (half of the workers) and one may wait (half of the queue). Of
 * the third and the fourth request, the one that arrives later is refused.
 */
static void a_token_is_limited_to_its_share_of_each_lane(void **state)
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
			wait_until(atomic_load(&site->holding) >= i + 1);
	}
	assert_int_equal(poll(requests, N_REQUESTS, PATIENCE_S * 1000), 1);
	for (unsigned int i = 0; i < N_REQUESTS; i++)
		if (requests[i].revents)
			read_all(requests[i].fd, &answer);
	assert_non_null(strstr(text_of(&answer),
			       "token 'reader' has too many requests in lane 'query' already"));
	/* The other half of the workers is free. */
	other = send_request_of(site, "/query-for-readers", "secret-b");
	wait_until(atomic_load(&site->holding) >= N_WORKERS / 2 + 1);
	for (unsigned int i = 0; i < N_REQUESTS; i++)
		(void)close(requests[i].fd);
}

static void a_token_is_limited_to_half_of_the_memory_for_unread_answers(void **state)
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

/* The upload after MAX_UPLOADS is refused before its body is read. */
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
	wait_until(atomic_load(&site->streams_open) == MAX_UPLOADS);
	expect_last_answer(site, head, "HTTP/1.1 429 ");
	expect_answer_of(site, "/hello/x", "secret-a", "HTTP/1.1 200 OK\r\n");
	assert_int_equal(atomic_load(&site->streams_begun), MAX_UPLOADS);
	for (unsigned int i = 0; i < MAX_UPLOADS; i++)
		(void)close(held[i]);
}

static void a_client_address_is_limited_to_its_share_of_the_connections(void **state)
{
	enum { SHARE = 3 };
	struct site *site = *state;
	int held[SHARE];
	char byte;

	start_with(site, (struct http_client_limits){ .max_per_client = SHARE });
	for (unsigned int i = 0; i < SHARE; i++) {
		held[i] = connect_from(site, "127.0.0.2");
		wait_until(http_server_connections(site->server) == i + 1);
	}
	for (unsigned int i = 0; i < 5; i++) {
		scoped_fd int refused = connect_from(site, "127.0.0.2");
		ssize_t size = recv(refused, &byte, 1, 0);

		assert_true(size == 0 || (size < 0 && errno == ECONNRESET));
	}
	expect_metric(site, "http_connections_closed_total{reason=\"client_limit\"} 5\n");
	assert_status(site, "GET", "/", NULL, NULL, 200);

	(void)close(held[0]);
	wait_until(http_server_connections(site->server) == SHARE - 1);
	held[0] = connect_from(site, "127.0.0.2");
	wait_until(http_server_connections(site->server) == SHARE);
	for (unsigned int i = 0; i < SHARE; i++)
		(void)close(held[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		IDLE_TEST(a_token_is_limited_to_its_share_of_the_requests),
		IDLE_TEST(a_token_is_limited_to_its_share_of_each_lane),
		IDLE_TEST(a_token_is_limited_to_half_of_the_memory_for_unread_answers),
		IDLE_TEST(uploads_of_a_token_do_not_count_as_requests),
		IDLE_TEST(a_client_address_is_limited_to_its_share_of_the_connections),
	};

	(void)curl_global_init(CURL_GLOBAL_DEFAULT);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
