/* SPDX-License-Identifier: Apache-2.0 */

#include "symbolizer/http/framing.h"

#include "tests/support/unit.h"

#define HOST                                                                                       \
	{                                                                                          \
		"Host", "127.0.0.1"                                                                \
	}

struct framing_case {
	const char *version;
	struct http_field headers[4];
	const char *objection; /* part of it; NULL: none */
};

static void requests_with_ambiguous_framing_are_refused(void **state)
{
	static const struct framing_case cases[] = {
		{ "HTTP/1.1", { HOST }, NULL },
		{ "HTTP/1.0", {}, NULL },
		{ "HTTP/1.1", {}, "needs a Host" },
		{ "HTTP/1.1", { { "Content-Length", "5" } }, "needs a Host" },
		{ "HTTP/1.1", { HOST, { "host", "127.0.0.1" } }, "more than one Host" },
		{ "HTTP/1.0", { HOST, { "HOST", "other" } }, "more than one Host" },
		{ "HTTP/1.1", { HOST, { "Content-Length", "5" } }, NULL },
		{ "HTTP/1.1",
		  { HOST, { "Content-Length", "5" }, { "content-length", "5" } },
		  NULL },
		{ "HTTP/1.1",
		  { HOST, { "Content-Length", "5" }, { "content-length", "6" } },
		  "different values" },
		{ "HTTP/1.1",
		  { HOST, { "Content-Length", "5" }, { "Content-Length", "05" } },
		  "different values" },
		{ "HTTP/1.1", { HOST, { "Transfer-Encoding", "Chunked" } }, NULL },
		{ "HTTP/1.1",
		  { HOST, { "Transfer-Encoding", "chunked" }, { "Content-Length", "5" } },
		  "both" },
		{ "HTTP/1.1",
		  { HOST, { "content-length", "5" }, { "transfer-encoding", "chunked" } },
		  "both" },
		{ "HTTP/1.1", { HOST, { "Transfer-Encoding", "gzip, chunked" } }, "only be" },
		{ "HTTP/1.1", { HOST, { "Transfer-Encoding", "" } }, "only be" },
		{ "HTTP/1.1",
		  { HOST, { "Transfer-Encoding", "chunked" }, { "Transfer-Encoding", "chunked" } },
		  "only be" },
		{ "HTTP/1.0", { HOST, { "Transfer-Encoding", "chunked" } }, "HTTP/1.0" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct http_request request = { .headers = cases[i].headers };
		const char *objection;

		while (request.n_headers < ARRAY_SIZE(cases[i].headers) &&
		       cases[i].headers[request.n_headers].name)
			request.n_headers++;
		objection = framing_objection(&request, cases[i].version);
		if (!objection != !cases[i].objection ||
		    (objection && !strstr(objection, cases[i].objection)))
			fail_msg("case %zu: '%s'", i, objection ? objection : "no objection");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(requests_with_ambiguous_framing_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
