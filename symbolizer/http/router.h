/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A constant table of routes and the search in it.
 *
 * A pattern is a path; one segment may be "*", which matches one segment that is not empty and
 * becomes the request's argument, and the last one may be "**", which matches all that is left of
 * the path. A row without '*' wins over one with, and one without "**" over one with. HEAD is
 * served by the row of GET.
 */

#include "symbolizer/http/message.h"

/* Fills @response. @context is what the server was started with. Runs on a worker thread: it may
 * block. */
typedef void (*http_handler)(void *context, const struct http_request *request,
			     struct http_response *response);

/*
 * For bodies too large to be held: the handler gets them in pieces, as they come. begin and append
 * run on a thread that serves other connections too and must not wait for anything but the local
 * disk; finish runs on a worker.
 */
struct http_stream_operations {
	/*
	 * @declared_bytes: the Content-Length, or UINT64_MAX. Returns NULL after filling @response
	 * to refuse the body.
	 */
	void *(*begin)(void *context, const struct http_request *request, uint64_t declared_bytes,
		       struct http_response *response);
	/* false after filling @response: the rest is not wanted. */
	bool (*append)(void *stream, struct bytes_view data, struct http_response *response);
	/* All is there: fills @response. Called only when every append said true. */
	void (*finish)(void *stream, const struct http_request *request,
		       struct http_response *response);
	/* Always the last call, also when the client went away. */
	void (*free)(void *stream);
};

/*
 * Requests of a lane wait only for each other: each lane has its own workers and its own queue, so
 * that ingest is answered while queries take seconds, and health while hostile batches are
 * unpacked. Jobs of one token run on half of the workers at most (worker_pool.h). X(id, name,
 * workers or 0 for n_workers, most that wait beyond the workers or 0 for twice max_connections,
 * requests of the lane)
 *
 * A request beyond that is answered with 503: its client would be gone before a longer queue got to
 * it. The lanes of agents have no such bound, because all agents may send at the same moment, after
 * the server was busy or down. What waits there is bounded by max_connections, and its bodies by
 * HTTP_MAX_HELD_BODY_BYTES or the disk.
 */
/* clang-format off */
#define HTTP_LANES(X)                                                                                 \
	X(HEALTH, "health", 2, 0, "microseconds: health and the page, which touch no store")          \
	X(READY, "ready", 2, 0, "milliseconds: readiness, which asks the store")                      \
	X(SHORT, "short", 0, 0, "milliseconds: batches, lists, metrics")                              \
	X(QUERY, "query", 0, 256, "up to seconds: profiles, and symbols whose table is made first")   \
	X(FILES, "files", 0, 0, "debuginfo, which is compressed whole")                               \
	X(DEBUGINFOD, "debuginfod", 0, 64, "debuginfo, which is expanded, or fetched first")
/* clang-format on */

enum http_lane {
#define X(id, ...) HTTP_LANE_##id,
	HTTP_LANES(X)
#undef X
		HTTP_LANE_COUNT,
};

/* As in messages: "query". */
const char *http_lane_name(enum http_lane lane);

struct http_route {
	enum http_method method;
	const char *pattern;
	enum http_lane lane;
	unsigned int scopes;       /* any of them suffices; 0: open to everybody */
	uint64_t body_limit_bytes; /* 413 beyond; for streams too */
	http_handler handler;      /* NULL for a streaming route */
	const struct http_stream_operations *stream;
	http_error_style error_style;
};

enum router_result {
	ROUTER_FOUND,
	ROUTER_NO_SUCH_PATH,
	ROUTER_WRONG_METHOD, /* *ret_route is some route of the path, for its error style */
};

/* A segment matched by '*' that is longer matches nothing: no name in a path is, and it is copied.
 */
#define ROUTER_ARGUMENT_SIZE 512

/* Fills @ret_argument and *ret_route on ROUTER_FOUND. */
enum router_result router_find(const struct http_route *routes, size_t count,
			       enum http_method method, const char *path,
			       const struct http_route **ret_route,
			       char ret_argument[ROUTER_ARGUMENT_SIZE]);

/* "GET, HEAD, DELETE": the methods of @path, for Allow. */
#define ROUTER_ALLOW_SIZE 64
void router_allow(const struct http_route *routes, size_t count, const char *path,
		  char ret_text[ROUTER_ALLOW_SIZE]);
