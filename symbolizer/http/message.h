/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A request and its response, as handlers see them: plain data, no socket. Tests fill a request by
 * hand.
 *
 * A request and all it points to is borrowed and lives until the handler returns. A response is
 * owned by whoever called http_response_init(); the handler fills it. A handler may serve HEAD
 * exactly as GET: the server leaves the body out. One whose body costs much sets head_bytes
 * instead.
 */

#include "common/bytes.h"

enum http_method {
	HTTP_GET,
	HTTP_HEAD,
	HTTP_POST,
	HTTP_PUT,
	HTTP_DELETE,
	HTTP_OTHER, /* nothing is served for it */
};

/* HTTP_OTHER for a word that is no method of ours. */
enum http_method http_method_from_name(const char *name);
const char *http_method_name(enum http_method method);

/* What a token may do. A route names the scopes of which any one suffices. */
/* clang-format off */
#define HTTP_SCOPES(X)                                                                             \
	X(INGEST, 1, "ingest", "send batches, and debuginfo the server asked for")                 \
	X(UPLOAD, 2, "upload", "upload debuginfo as a build pipeline")                             \
	X(READ, 4, "read", "query profiles, lists and metrics")                                    \
	X(ADMIN, 8, "admin", "remove debuginfo")
/* clang-format on */

enum http_scope {
#define X(id, bit, ...) HTTP_SCOPE_##id = bit,
	HTTP_SCOPES(X)
#undef X
		HTTP_SCOPE_ALL = 15,
};

/* 0 when no scope has this name. */
unsigned int http_scope_from_name(const char *name, size_t length);

/* "read, upload": the names of all bits of @scopes. */
#define HTTP_SCOPES_TEXT_SIZE 64
void http_scopes_format(unsigned int scopes, char ret_text[HTTP_SCOPES_TEXT_SIZE]);

#define HTTP_CALLER_TEXT_SIZE 64

/* Who asks. */
struct http_caller {
	char name[HTTP_CALLER_TEXT_SIZE]; /* of the token; "" when the server has none */
	char tenant[HTTP_CALLER_TEXT_SIZE];
	unsigned int scopes; /* bits of enum http_scope */
	bool anonymous;      /* the server has no tokens: everybody may do everything */
};

struct http_field {
	const char *name;
	const char *value; /* never NULL */
};

struct http_request {
	enum http_method method;
	const char *path;     /* percent-decoded, without the query */
	const char *argument; /* what the '*' of the route's pattern matched; "" without one */
	const struct http_field *headers;
	size_t n_headers;
	const struct http_field *parameters; /* of the query string, percent-decoded */
	size_t n_parameters;
	struct bytes_view body;
	const struct http_caller *caller;
};

/* NULL when absent; names match without regard to case. The first one counts. */
const char *http_request_header(const struct http_request *request, const char *name);

/* NULL when absent or empty: forms send all their fields. The first one counts. */
const char *http_request_parameter(const struct http_request *request, const char *name);

/* Whether the comma-separated list in header @name holds @token with a quality above zero
 * (Accept-Encoding). */
bool http_request_accepts(const struct http_request *request, const char *name, const char *token);

#define HTTP_RESPONSE_MAX_HEADERS 40
#define HTTP_HEADER_VALUE_SIZE    128

struct http_response_header {
	const char *name; /* lives as long as the program */
	char value[HTTP_HEADER_VALUE_SIZE];
};

struct http_response;

/* Writes the body of an error answer; chosen by the route. */
typedef void (*http_error_style)(struct http_response *response, unsigned int status,
				 const char *message);

struct http_response {
	unsigned int status;          /* 200 from the start */
	const char *content_type;     /* lives as long as the program; NULL: none is sent */
	struct bytes body;            /* owned */
	struct bytes_view fixed_body; /* sent instead of @body when data is set; lives as long as
					 the program */
	const char *fixed_encoding;   /* of fixed_body, "gzip", or NULL */
	int file;                     /* owned; sent instead of either, unless -1 */
	uint64_t file_offset;
	uint64_t file_bytes;
	uint64_t head_bytes; /* of an answer to HEAD without anything to send: what GET would send;
				else 0 */
	void (*on_release)(void *arg); /* once the answer is sent or dropped; NULL: none */
	void *on_release_arg;
	http_error_style error_style; /* NULL: {"error": "..."} */
	struct http_response_header headers[HTTP_RESPONSE_MAX_HEADERS];
	unsigned int n_headers;
};

/*
 * The largest body an answer may have. A node list of two million nodes has about 400 MB; beyond
 * that the columns, or fewer nodes, are the answer.
 */
#define HTTP_RESPONSE_MAX_BYTES (512 * MIB)

void http_response_init(struct http_response *response);
void http_response_release(struct http_response *response);

/* @name must live as long as the program. A value that is too long is cut; line ends in it become
 * blanks. */
void http_response_header(struct http_response *response, const char *name, const char *format, ...)
	printf_like(3, 4);

/* NULL when it was not set. */
const char *http_response_find_header(const struct http_response *response, const char *name);

/* Replaces whatever is in the body by an error in the style of the route. */
void http_response_error(struct http_response *response, unsigned int status, const char *format,
			 ...) printf_like(3, 4);
