/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The rules are those of RFC 9112: section 3.2 for Host, 6.1 for Transfer-Encoding, 6.3 for
 * Content-Length. They are checked here because the library (libmicrohttpd 0.9.75) silently uses
 * the first of several Content-Length headers and prefers Transfer-Encoding to Content-Length.
 */

#include "symbolizer/http/framing.h"

#include <string.h>
#include <strings.h>

struct repeated_header {
	const char *value; /* of the first one; NULL: the request has none */
	size_t count;
	bool differs; /* two of them have different values */
};

static struct repeated_header find_all(const struct http_request *request, const char *name)
{
	struct repeated_header found = {};

	for (size_t i = 0; i < request->n_headers; i++) {
		const char *value = request->headers[i].value;

		if (strcasecmp(request->headers[i].name, name) != 0)
			continue;
		if (found.count++ == 0)
			found.value = value;
		else
			found.differs |= strcmp(found.value, value) != 0;
	}
	return found;
}

static const char *host_objection(const struct http_request *request, bool is_1_0)
{
	struct repeated_header host = find_all(request, "Host");

	if (host.count == 0 && !is_1_0)
		return "an HTTP/1.1 request needs a Host header";
	return host.count > 1 ? "the request has more than one Host header" : NULL;
}

const char *framing_objection(const struct http_request *request, const char *version)
{
	struct repeated_header encoding = find_all(request, "Transfer-Encoding");
	struct repeated_header length = find_all(request, "Content-Length");
	bool is_1_0 = strcmp(version, "HTTP/1.0") == 0;
	const char *objection = host_objection(request, is_1_0);

	if (objection)
		return objection;
	if (length.differs)
		return "the request has Content-Length headers with different values";
	if (encoding.count == 0)
		return NULL;
	if (length.count > 0)
		return "the request has both Content-Length and Transfer-Encoding";
	if (is_1_0)
		return "an HTTP/1.0 request cannot have Transfer-Encoding";
	if (encoding.count > 1 || strcasecmp(encoding.value, "chunked") != 0)
		return "Transfer-Encoding may only be 'chunked'";
	return NULL;
}
