/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The search is linear: the table has some thirty rows, and reading the request's headers costs
 * more.
 */

#include "symbolizer/http/router.h"

#include <stdio.h>
#include <string.h>

const char *http_lane_name(enum http_lane lane)
{
	static const char *const names[] = {
#define X(id, name, ...) name,
		HTTP_LANES(X)
#undef X
	};

	return names[lane];
}

enum match_kind {
	MATCH_NONE,
	MATCH_REST,
	MATCH_WILDCARD,
	MATCH_EXACT,
};

/* The part of the path that matches '*'. */
struct argument {
	const char *text;
	size_t length;
};

/* Matches the pattern and the path after '*'. */
static enum match_kind match_tail(const char *pattern, const char *path)
{
	const char *stars = strstr(pattern, "/**");
	size_t length = stars ? (size_t)(stars - pattern) + 1 : 0;

	if (!stars)
		return strcmp(pattern, path) == 0 ? MATCH_WILDCARD : MATCH_NONE;
	return strncmp(pattern, path, length) == 0 && path[length] ? MATCH_REST : MATCH_NONE;
}

static enum match_kind match_pattern(const char *pattern, const char *path,
				     struct argument *ret_argument)
{
	const char *star = strchr(pattern, '*');
	const char *rest;

	*ret_argument = (struct argument){ .text = "" };
	if (!star)
		return strcmp(pattern, path) == 0 ? MATCH_EXACT : MATCH_NONE;
	if (strncmp(pattern, path, (size_t)(star - pattern)) != 0)
		return MATCH_NONE;

	rest = path + (star - pattern);
	ret_argument->text = rest;
	ret_argument->length = strcspn(rest, "/");
	if (ret_argument->length == 0 || ret_argument->length >= ROUTER_ARGUMENT_SIZE)
		return MATCH_NONE;
	return match_tail(star + 1, rest + ret_argument->length);
}

/* Returns the best match of any row for @path, regardless of the method. */
static enum match_kind best_match(const struct http_route *routes, size_t count, const char *path)
{
	enum match_kind best = MATCH_NONE;
	struct argument argument;

	for (size_t i = 0; i < count; i++)
		best = MAX(best, match_pattern(routes[i].pattern, path, &argument));
	return best;
}

enum router_result router_find(const struct http_route *routes, size_t count,
			       enum http_method method, const char *path,
			       const struct http_route **ret_route,
			       char ret_argument[ROUTER_ARGUMENT_SIZE])
{
	enum http_method wanted = method == HTTP_HEAD ? HTTP_GET : method;
	enum match_kind best = best_match(routes, count, path);
	struct argument argument;

	if (best == MATCH_NONE)
		return ROUTER_NO_SUCH_PATH;

	for (size_t i = 0; i < count; i++) {
		if (match_pattern(routes[i].pattern, path, &argument) != best)
			continue;
		*ret_route = &routes[i];
		if (routes[i].method != wanted)
			continue;
		memcpy(ret_argument, argument.text, argument.length);
		ret_argument[argument.length] = '\0';
		return ROUTER_FOUND;
	}
	return ROUTER_WRONG_METHOD;
}

void router_allow(const struct http_route *routes, size_t count, const char *path,
		  char ret_text[ROUTER_ALLOW_SIZE])
{
	enum match_kind best = best_match(routes, count, path);
	struct argument argument;
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
