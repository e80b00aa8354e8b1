/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A constant table of routes, and the search in it.
 *
 * A pattern is a path. One segment may be "*": it matches one segment that is not empty, which
 * becomes the request's argument. The last segment may be "**": it matches the rest of the path. A
 * row without '*' has precedence over one with '*', and one without "**" over one with "**". HEAD
 * is served by the row of GET.
 */

#include "symbolizer/http/message.h"

/* Fills @response. @context is http_server_options.context. Runs on a worker thread and may
 * block. */
typedef void (*http_handler)(void *context, const struct http_request *request,
			     struct http_response *response);

/*
 * Handler for bodies that are too large for memory: it receives them in pieces. begin and append
 * run on a thread that also serves other connections, and must not wait for anything but the local
 * disk. finish runs on a worker.
 */
struct http_stream_operations {
	/*
	 * @declared_bytes: the Content-Length, or UINT64_MAX if unknown. Returns NULL after filling
	 * @response to refuse the body.
	 */
	void *(*begin)(void *context, const struct http_request *request, uint64_t declared_bytes,
		       struct http_response *response);
	/* Returns false after filling @response to refuse the rest of the body. */
	bool (*append)(void *stream, struct bytes_view data, struct http_response *response);
	/* Called after the last piece if every append() returned true. Fills @response. */
	void (*finish)(void *stream, const struct http_request *request,
		       struct http_response *response);
	/* Always the last call, also if the client disconnected. */
	void (*free)(void *stream);
};

/*
 * A lane is a worker pool with a queue. Requests wait only for requests of the same lane, so that
 * batches are answered while queries take seconds, lists while batches wait for the disk, and
 * health checks always. Jobs of one token use at most half of the workers (worker_pool.h).
 *
 * X(id, name, number of workers or 0 for n_workers, length of the queue or 0 for twice
 * max_connections, requests of the lane)
 *
 * A worker of INGEST waits for the disk most of the time, together with the others: one fsync
 * serves all batches that wait. A thousand agents send 200 batches a second, of which each waits
 * for tens of milliseconds, and a slow disk needs ten times as long. All of them may share one
 * token, which uses half of the workers.
 *
 * A request is answered with 503 if the queue is full: its client would have given up before the
 * end of a longer queue. The lanes of agents have no such bound, because all agents may send at the
 * same moment after the server was busy or down. There max_connections bounds the number of waiting
 * requests, and HTTP_MAX_HELD_BODY_BYTES or the disk bounds their bodies.
 */
/* clang-format off */
#define HTTP_LANES(X)                                                                              \
	X(HEALTH, "health", 2, 0, "microseconds: health and the page, which read no store")        \
	X(STATUS, "status", 2, 0, "readiness and metrics, which wait for the disk for 0.5 s")      \
	X(INGEST, "ingest", 64, 0, "batches, which wait for the disk together")                    \
	X(LISTS, "lists", 0, 0, "milliseconds: lists, states of uploads, removals")                \
	X(QUERY, "query", 0, 256, "up to seconds: profiles, and symbols that need a new table")    \
	X(FILES, "files", 0, 0, "uploads of debuginfo, which are compressed as a whole")           \
	X(DEBUGINFOD, "debuginfod", 0, 64, "downloads of debuginfo, expanded or fetched first")
/* clang-format on */

enum http_lane {
#define X(id, ...) HTTP_LANE_##id,
	HTTP_LANES(X)
#undef X
		HTTP_LANE_COUNT,
};

/* Returns the name for messages, such as "query". */
const char *http_lane_name(enum http_lane lane);

struct http_route {
	enum http_method method;
	const char *pattern;
	enum http_lane lane;
	unsigned int scopes;       /* a token needs one of them; 0: no token is needed */
	uint64_t body_limit_bytes; /* a longer body gets 413, also for a streaming route */
	http_handler handler;      /* NULL for a streaming route */
	const struct http_stream_operations *stream;
	http_error_style error_style;
};

enum router_result {
	ROUTER_FOUND,
	ROUTER_NO_SUCH_PATH,
	ROUTER_WRONG_METHOD, /* *ret_route is a route of the path, for its error style */
};

/* A longer segment does not match '*': it is copied, and no valid name in a path is longer. */
#define ROUTER_ARGUMENT_SIZE 512

/* Finds the route of a request. Fills @ret_argument and *ret_route on ROUTER_FOUND. */
enum router_result router_find(const struct http_route *routes, size_t count,
			       enum http_method method, const char *path,
			       const struct http_route **ret_route,
			       char ret_argument[ROUTER_ARGUMENT_SIZE]);

/* Writes the methods of @path for the Allow header, such as "GET, HEAD, DELETE". */
#define ROUTER_ALLOW_SIZE 64
void router_allow(const struct http_route *routes, size_t count, const char *path,
		  char ret_text[ROUTER_ALLOW_SIZE]);
