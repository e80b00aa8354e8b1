/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/http/authorization.h"

#include "symbolizer/http/cross_site.h"

static const char *auth_hint(enum auth_result result)
{
	switch (result) {
	case AUTH_MISSING:
		return "a token is needed: send the header 'Authorization: Bearer TOKEN'; "
		       "hearth-symbolizer --make-token NAME --scopes read makes one";
	case AUTH_MALFORMED:
		return "the Authorization header is not 'Bearer TOKEN'";
	case AUTH_UNKNOWN:
		return "the server does not know this token; it may have been replaced in its "
		       "tokens file";
	case AUTH_OK:
		break;
	}
	return NULL;
}

static void refuse_token(enum auth_result result, struct http_response *response)
{
	http_response_header(response, "WWW-Authenticate", "Bearer realm=\"hearth\"%s",
			     result == AUTH_MISSING ? "" : ", error=\"invalid_token\"");
	http_response_error(response, 401, "%s", auth_hint(result));
}

static void refuse_scope(const struct http_route *route, const struct http_request *request,
			 const struct http_caller *caller, struct http_response *response)
{
	char needed[HTTP_SCOPES_TEXT_SIZE];

	http_scopes_format(route->scopes, needed);
	http_response_error(response, 403, "token '%s' lacks the scope that '%s' needs: %s",
			    caller->name, request->path, needed);
}

bool authorization_check(const struct authorization *authorization,
			 const struct http_request *request, struct http_caller *ret_caller,
			 struct http_response *response)
{
	const struct http_route *route = authorization->route;
	const char *objection;
	enum auth_result result;

	result = auth_check(authorization->auth, http_request_header(request, "Authorization"),
			    ret_caller);
	if (result != AUTH_OK && route->scopes != 0) {
		refuse_token(result, response);
		return false;
	}
	objection = cross_site_objection(request, authorization->loopback_only);
	if (objection) {
		http_response_error(response, 403, "%s", objection);
		return false;
	}
	if (route->scopes != 0 && !(ret_caller->scopes & route->scopes)) {
		refuse_scope(route, request, ret_caller, response);
		return false;
	}
	return true;
}
