/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/http/reply.h"

#include <sys/socket.h>

#include "tests/support/unit.h"

static void make_error(struct http_response *response)
{
	http_response_init(response);
	http_response_error(response, 413, "too large");
}

static void an_early_answer_to_HEAD_has_no_body(void **state)
{
	scoped(http_response_release) struct http_response response;
	int ends[2];

	(void)state;
	make_error(&response);
	for (unsigned int with_body = 0; with_body < 2; with_body++) {
		char text[1000];
		ssize_t size;

		assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
		assert_true(reply_write_early(ends[0], &response, with_body, 0));
		size = recv(ends[1], text, sizeof(text) - 1, 0);
		assert_true(size > 0);
		text[size] = '\0';
		assert_memory_equal(text, "HTTP/1.1 413 ", 13);
		assert_non_null(strstr(text, "\r\nContent-Length: "));
		assert_int_equal(strstr(text, "{\"error\":\"too large\"}") != NULL, with_body);
		(void)close(ends[0]);
		(void)close(ends[1]);
	}
}

static void an_early_answer_that_does_not_fit_is_reported(void **state)
{
	scoped(http_response_release) struct http_response response;
	char unread[1000] = "";
	int ends[2];

	(void)state;
	make_error(&response);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
	while (send(ends[0], unread, sizeof(unread), MSG_DONTWAIT) > 0)
		;
	assert_false(reply_write_early(ends[0], &response, true, 0));
	(void)close(ends[0]);
	(void)close(ends[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_early_answer_to_HEAD_has_no_body),
		cmocka_unit_test(an_early_answer_that_does_not_fit_is_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
