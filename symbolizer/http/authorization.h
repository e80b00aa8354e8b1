/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Decides whether a request is served: checks its token, the site of the page that made a browser
 * send it (cross_site.h), and the scopes of the token.
 */

#include "symbolizer/http/auth.h"
#include "symbolizer/http/router.h"

struct authorization {
	struct auth *auth;
	const struct http_route *route; /* matched by the request */
	/* the server has no tokens and listens on loopback addresses only */
	bool loopback_only;
};

/* Returns whether the request is allowed. Otherwise @response is a 401 or 403. Fills
 * @ret_caller, which stays empty if the route needs no token and the request has no valid one. */
bool authorization_check(const struct authorization *authorization,
			 const struct http_request *request, struct http_caller *ret_caller,
			 struct http_response *response);
