/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/http/cross_site.h"

#include "tests/support/unit.h"

static const char *objection(enum http_method method, const char *host, const char *origin,
			     bool anonymous, bool loopback_only)
{
	const struct http_caller caller = { .anonymous = anonymous };
	struct http_field headers[2];
	struct http_request request = { .method = method, .headers = headers, .caller = &caller };

	if (host)
		headers[request.n_headers++] = (struct http_field){ "Host", host };
	if (origin)
		headers[request.n_headers++] = (struct http_field){ "Origin", origin };
	return cross_site_objection(&request, loopback_only);
}

static void a_server_without_tokens_accepts_only_host_names_of_this_machine(void **state)
{
	static const struct {
		const char *host;
		bool passes;
	} cases[] = {
		{ NULL, true }, /* HTTP/1.0 */
		{ "localhost", true },
		{ "LOCALHOST:20416", true },
		{ "127.0.0.1:20416", true },
		{ "127.8.9.10", true },
		{ "[::1]:20416", true },
		{ "evil.example.com", false },
		{ "127.evil.example", false },
		{ "127.0.0.1.evil.example", false },
		{ "localhost.evil.example", false },
		{ "[::2]:20416", false },
		{ "10.0.0.1", false },
		{ "", false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		bool passes = !objection(HTTP_GET, cases[i].host, NULL, true, true);

		if (passes != cases[i].passes)
			fail_msg("'%s'", cases[i].host);
		assert_null(objection(HTTP_GET, cases[i].host, NULL, true, false));
	}
}

static void a_page_of_another_site_cannot_change_data(void **state)
{
	static const char host[] = "127.0.0.1:20416";

	(void)state;
	assert_null(objection(HTTP_POST, host, NULL, true, true));
	assert_null(objection(HTTP_POST, host, "http://127.0.0.1:20416", true, true));
	assert_non_null(objection(HTTP_POST, host, "http://127.0.0.1:8000", true, true));
	assert_non_null(objection(HTTP_POST, host, "https://evil.example.com", true, true));
	assert_non_null(objection(HTTP_DELETE, host, "null", true, true));
	assert_non_null(objection(HTTP_PUT, host, "https://evil.example.com", true, false));
	assert_null(objection(HTTP_GET, host, "https://evil.example.com", true, true));
	/* A browser does not send a token by itself, so cross-site requests with a token are
	 * allowed. */
	assert_null(objection(HTTP_POST, host, "https://evil.example.com", false, false));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_server_without_tokens_accepts_only_host_names_of_this_machine),
		cmocka_unit_test(a_page_of_another_site_cannot_change_data),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
