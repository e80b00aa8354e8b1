/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Whether a request may be served: its token, the site that sent a browser here, and the scopes of
 * the token.
 */

#include "symbolizer/http/auth.h"
#include "symbolizer/http/router.h"

struct authorization {
	struct auth *auth;
	const struct http_route *route; /* the one of the request */
	bool loopback_only;             /* the server has no tokens and no other address */
};

/* Fills @ret_caller, which stays empty for a route that needs no token. false after answering with
 * 401 or 403. */
bool authorization_check(const struct authorization *authorization,
			 const struct http_request *request, struct http_caller *ret_caller,
			 struct http_response *response);
