/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A client of the server's HTTP API, over libcurl, one request at a time. Functions print their
 * errors on stderr, with a remedy if there is one, so that callers only return the error.
 * Exceptions are noted below.
 */

#include "common/bytes.h"
#include "symbolizer/cli/options/options.h"

struct client;

#define CLIENT_MESSAGE_SIZE 512

/* Checks whether client_new() can use the token. 0, also if no token is configured, or a negative
 * errno with the reason in @ret_words, in one line. Prints nothing. */
int client_check_token(const struct connection_options *options,
		       char ret_words[CLIENT_MESSAGE_SIZE]);

/* Reads the token file if one is configured. 0, or a negative errno after printing a message. */
int client_new(const struct connection_options *options, struct client **ret_client);
struct client *client_free(struct client *client);

/*
 * GET @path_and_query ("/v1/hosts"), or POST with a JSON body. On success, appends the body of the
 * answer to @ret_body. For an error status, prints a message and returns -EIO, or -EINVAL if the
 * user's arguments are wrong.
 */
int client_get(struct client *client, const char *path_and_query, struct bytes *ret_body);
int client_post_json(struct client *client, const char *path, struct bytes_view json,
		     struct bytes *ret_body);

/* A request for client_exchange(), which prints nothing: the caller handles every status. */
struct client_request {
	const char *method;
	const char *path;
	const char *header;     /* an additional header, "Name: value"; NULL: none */
	struct bytes_view json; /* a JSON body; data is NULL: none */
	int fd;                 /* body of a PUT: @size bytes from @offset */
	uint64_t offset;
	uint64_t size;
	_Atomic uint64_t *n_sent; /* incremented by the bytes of @fd that were sent; may be NULL */
};

struct client_answer {
	long status; /* HTTP status; 0: no answer */
	struct bytes body;
	uint64_t date_s;                 /* the server's clock, of its header Date; 0: not given */
	char words[CLIENT_MESSAGE_SIZE]; /* one line: the error; "" if status is below 400 */
};

/*
 * 0: the server answered, with any status; -EIO: there is no answer. The caller releases the body
 * with bytes_release() in either case.
 */
int client_exchange(struct client *client, const struct client_request *request,
		    struct client_answer *ret_answer);

/* Appends @path with query parameters, whose values are percent-encoded: client_path(client, &path,
 * "/v1/services", "last", "5m", NULL). */
int client_path(struct client *client, struct bytes *ret_path, const char *path, ...)
	__attribute__((sentinel));

/* Appends @path, which begins with a slash, and a NUL. Percent-encodes all but the slashes. */
int client_escape_path(struct client *client, struct bytes *ret_path, const char *path);

#include "common/scoped.h"
DEFINE_SCOPED(struct client *, client_free);

#define scoped_bytes scoped(bytes_release)

/* A larger answer is an error. Answers that a terminal can show are far smaller. */
#define CLIENT_MAX_ANSWER_BYTES (512 * MIB)
