/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A request and its response as plain data, without a socket, so that tests can fill a request by
 * hand.
 *
 * A request and everything it points to is borrowed and lives until the handler returns. A response
 * is owned by the caller of http_response_init(); the handler fills it. A handler may serve HEAD
 * like GET: the server does not send the body. A handler with an expensive body sets head_bytes
 * instead.
 */

#include "common/bytes.h"
#include "common/cancel.h"

enum http_method {
	HTTP_GET,
	HTTP_HEAD,
	HTTP_POST,
	HTTP_PUT,
	HTTP_DELETE,
	HTTP_OTHER, /* not served */
};

/* Returns HTTP_OTHER for any other name. */
enum http_method http_method_from_name(const char *name);
const char *http_method_name(enum http_method method);

/* The permissions of a token: X(id, bit, name, help). A route lists scopes of which a token
 * needs one. */
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

/* Returns the bit of the scope, or 0 if no scope has this name. */
unsigned int http_scope_from_name(const char *name, size_t length);

/* Writes the names of all bits of @scopes, such as "read, upload". */
#define HTTP_SCOPES_TEXT_SIZE 64
void http_scopes_format(unsigned int scopes, char ret_text[HTTP_SCOPES_TEXT_SIZE]);

#define HTTP_CALLER_TEXT_SIZE 64

/* The sender of a request, as identified by its token. */
struct http_caller {
	char name[HTTP_CALLER_TEXT_SIZE]; /* of the token; "": the server has no tokens */
	char tenant[HTTP_CALLER_TEXT_SIZE];
	unsigned int scopes; /* bits of enum http_scope */
	bool anonymous;      /* the server has no tokens: every caller has all scopes */
};

struct http_field {
	const char *name;
	const char *value; /* never NULL */
};

struct http_request {
	enum http_method method;
	const char *path;     /* percent-decoded, without the query */
	const char *argument; /* matched by the '*' of the route's pattern; "" without one */
	const struct http_field *headers;
	size_t n_headers;
	const struct http_field *parameters; /* of the query string, percent-decoded */
	size_t n_parameters;
	struct bytes_view body;
	const struct http_caller *caller;
	/* Requested when the client closes the connection before it has the answer. May be NULL. */
	const struct cancel *cancel;
	uint64_t waited_ns; /* in the queue of its lane */
};

/* Returns the value of the first header with this name, or NULL. Case is ignored. */
const char *http_request_header(const struct http_request *request, const char *name);

/* Returns the value of the first parameter with this name, or NULL. An empty value counts as
 * absent, because HTML forms send all their fields. */
const char *http_request_parameter(const struct http_request *request, const char *name);

/* Returns whether the comma-separated list in header @name (such as Accept-Encoding) has @token
 * with a quality above zero. */
bool http_request_accepts(const struct http_request *request, const char *name, const char *token);

#define HTTP_RESPONSE_MAX_HEADERS 40
#define HTTP_HEADER_VALUE_SIZE    128

struct http_response_header {
	const char *name; /* lives as long as the program */
	char value[HTTP_HEADER_VALUE_SIZE];
};

struct http_response;

/* Writes the body of an error answer. Each route has one. */
typedef void (*http_error_style)(struct http_response *response, unsigned int status,
				 const char *message);

struct http_response {
	unsigned int status;      /* initially 200 */
	const char *content_type; /* lives as long as the program; NULL: none is sent */
	struct bytes body;        /* owned */
	/* Sent instead of @body if its data is not NULL. Lives as long as the program. */
	struct bytes_view fixed_body;
	const char *fixed_encoding; /* Content-Encoding of fixed_body: "gzip" or NULL */
	int file;                   /* owned; sent instead of both bodies unless -1 */
	uint64_t file_offset;
	uint64_t file_bytes;
	/* In an answer to HEAD without a body: the length that GET would send. Else 0. */
	uint64_t head_bytes;
	void (*on_release)(void *arg); /* called when the answer was sent or dropped; may be NULL */
	void *on_release_arg;
	http_error_style error_style; /* NULL: {"error": "..."} */
	struct http_response_header headers[HTTP_RESPONSE_MAX_HEADERS];
	unsigned int n_headers;
};

/*
 * Largest body of an answer. A node list of two million nodes has about 400 MB. For more nodes,
 * clients can request columns, or fewer nodes.
 */
#define HTTP_RESPONSE_MAX_BYTES (512 * MIB)

void http_response_init(struct http_response *response);
void http_response_release(struct http_response *response);

/* Adds a header. @name must live as long as the program. A long value is truncated; control
 * characters in it become blanks. */
void http_response_header(struct http_response *response, const char *name, const char *format, ...)
	printf_like(3, 4);

/* Returns the value, or NULL if the header was not set. */
const char *http_response_find_header(const struct http_response *response, const char *name);

/* Replaces the body by an error in the route's style. A file in @response is closed. */
void http_response_error(struct http_response *response, unsigned int status, const char *format,
			 ...) printf_like(3, 4);
