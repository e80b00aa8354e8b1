/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The table has some twenty rows; a linear search costs less than reading the request's headers
 * did.
 */

#include "symbolizer/http/router.h"

#include <stdio.h>
#include <string.h>

enum pattern_match {
	MATCH_NONE,
	MATCH_WILDCARD,
	MATCH_EXACT,
};

static enum pattern_match match_pattern(const char *pattern, const char *path,
					const char **ret_argument)
{
	size_t fixed = strlen(pattern);
	const char *rest;

	*ret_argument = "";
	if (fixed == 0 || pattern[fixed - 1] != '*')
		return strcmp(pattern, path) == 0 ? MATCH_EXACT : MATCH_NONE;

	fixed--;
	if (strncmp(pattern, path, fixed) != 0)
		return MATCH_NONE;
	rest = path + fixed;
	if (*rest == '\0' || strchr(rest, '/'))
		return MATCH_NONE;
	*ret_argument = rest;
	return MATCH_WILDCARD;
}

/* The best match that any row has for @path, whatever its method. */
static enum pattern_match best_match(const struct http_route *routes, size_t count,
				     const char *path)
{
	enum pattern_match best = MATCH_NONE;
	const char *argument;

	for (size_t i = 0; i < count; i++)
		best = MAX(best, match_pattern(routes[i].pattern, path, &argument));
	return best;
}

enum router_result router_find(const struct http_route *routes, size_t count,
			       enum http_method method, const char *path,
			       const struct http_route **ret_route, const char **ret_argument)
{
	enum http_method wanted = method == HTTP_HEAD ? HTTP_GET : method;
	enum pattern_match best = best_match(routes, count, path);
	const char *argument;

	if (best == MATCH_NONE)
		return ROUTER_NO_SUCH_PATH;

	for (size_t i = 0; i < count; i++) {
		if (match_pattern(routes[i].pattern, path, &argument) != best)
			continue;
		*ret_route = &routes[i];
		if (routes[i].method != wanted)
			continue;
		*ret_argument = argument;
		return ROUTER_FOUND;
	}
	return ROUTER_WRONG_METHOD;
}

void router_allow(const struct http_route *routes, size_t count, const char *path,
		  char ret_text[ROUTER_ALLOW_SIZE])
{
	enum pattern_match best = best_match(routes, count, path);
	const char *argument;
	size_t used = 0;

	ret_text[0] = '\0';
	for (size_t i = 0; i < count && best != MATCH_NONE && used < ROUTER_ALLOW_SIZE; i++) {
		if (match_pattern(routes[i].pattern, path, &argument) != best)
			continue;
		used += (size_t)snprintf(ret_text + used, ROUTER_ALLOW_SIZE - used, "%s%s%s",
					 used ? ", " : "", http_method_name(routes[i].method),
					 routes[i].method == HTTP_GET ? ", HEAD" : "");
	}
}
