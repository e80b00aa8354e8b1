/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Programs other than browsers send no Origin header. Their Host header has the name or address
 * that they were configured with, which is a loopback address if the server listens on loopback
 * only.
 */

#include "symbolizer/http/cross_site.h"

#include <string.h>
#include <strings.h>

/* Returns the length of the host part of "host", "host:port", "[v6]" or "[v6]:port". */
static size_t host_length(const char *authority)
{
	const char *bracket = authority[0] == '[' ? strchr(authority, ']') : NULL;

	return bracket ? (size_t)(bracket + 1 - authority) : strcspn(authority, ":");
}

static bool is_loopback_name(const char *authority)
{
	static const char *const names[] = { "localhost", "[::1]" };
	size_t length = host_length(authority);

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (length == strlen(names[i]) && strncasecmp(authority, names[i], length) == 0)
			return true;
	/* 127.0.0.0/8. Only digits and dots are accepted, because a domain name such as
	 * "127.evil.example" can be registered. */
	return strncmp(authority, "127.", 4) == 0 && strspn(authority, "0123456789.") == length;
}

static bool same_site(const char *origin, const char *host)
{
	const char *authority = strstr(origin, "://");

	return authority && host && strcasecmp(authority + 3, host) == 0;
}

const char *cross_site_objection(const struct http_request *request, bool loopback_only)
{
	const char *host = http_request_header(request, "Host");
	const char *origin = http_request_header(request, "Origin");

	if (loopback_only && host && !is_loopback_name(host))
		return "this server has no tokens and answers to localhost, 127.0.0.1 and [::1] "
		       "only, not to the name in the Host header; configure tokens to reach it by "
		       "another name";
	if (request->caller->anonymous && origin && request->method != HTTP_GET &&
	    request->method != HTTP_HEAD && !same_site(origin, host))
		return "this server has no tokens and refuses requests that another site's page "
		       "makes a browser send; configure tokens to allow them";
	return NULL;
}
