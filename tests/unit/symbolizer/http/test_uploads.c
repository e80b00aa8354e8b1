/* SPDX-License-Identifier: Apache-2.0 */

/* Tests bodies that are streamed to their handlers. */

#include "tests/unit/symbolizer/http/socket_fixture.h"

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
	wait_until(atomic_load(&site->streams_open) == 0);
}

static void send_and_disconnect(const struct site *site, const char *text)
{
	scoped_fd int fd = connect_from(site, "127.0.0.1");

	assert_true(send_all(fd, text, strlen(text)));
}

static void a_client_that_disconnects_early_is_detected_at_once(void **state)
{
	enum { N_CLIENTS = 40 };
	struct site *site = *state;

	for (unsigned int i = 0; i < N_CLIENTS; i++)
		send_and_disconnect(site, "PUT /stream/x HTTP/1.1\r\nHost: 127.0.0.1\r\n"
					  "Content-Length: 100000\r\n\r\nhalf");
	/* Wait until all connections are accepted and counted. From here on the count only
	 * falls. */
	wait_until(atomic_load(&site->streams_begun) == N_CLIENTS);
	wait_until(http_server_connections(site->server) == 0);
	wait_until(atomic_load(&site->streams_open) == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		SITE_TEST(a_large_upload_is_streamed),
		SITE_TEST(a_refused_upload_gets_the_reason),
		SITE_TEST(an_interrupted_upload_is_freed),
		SITE_TEST(a_client_that_disconnects_early_is_detected_at_once),
	};

	(void)curl_global_init(CURL_GLOBAL_DEFAULT);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
