/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The server's HTTP API over libcurl, one request at a time. Whatever goes wrong is said on stderr,
 * with the remedy where there is one; callers only give up.
 */

#include "common/bytes.h"
#include "symbolizer/cli/options/options.h"

struct client;

#define CLIENT_MESSAGE_SIZE 512

/* Whether client_new() could use the token, if there is one: 0, or negative errno and why not, in
 * one line. Nothing is said. */
int client_check_token(const struct connection_options *options,
		       char ret_words[CLIENT_MESSAGE_SIZE]);

/* Reads the token file if there is one. A negative errno after a message. */
int client_new(const struct connection_options *options, struct client **ret_client);
struct client *client_free(struct client *client);

/*
 * GET @path_and_query ("/v1/hosts"), or POST with a JSON body. The body of a 200 is appended to
 * @ret_body; every other status is a message and -EIO, or -EINVAL where the arguments are wrong.
 */
int client_get(struct client *client, const char *path_and_query, struct bytes *ret_body);
int client_post_json(struct client *client, const char *path, struct bytes_view json,
		     struct bytes *ret_body);

/* A request whose answer the caller judges: nothing is said. */
struct client_request {
	const char *method;
	const char *path;
	const char *header;     /* one more, "Name: value"; NULL: none */
	struct bytes_view json; /* a JSON body, when data is set */
	int fd;                 /* of a PUT: @size bytes from @offset */
	uint64_t offset;
	uint64_t size;
	_Atomic uint64_t *n_sent; /* counts the bytes as they leave; NULL: not */
};

struct client_answer {
	long status; /* 0: none came */
	struct bytes body;
	uint64_t date_s;                 /* the server's clock, of its header Date; 0: not given */
	char words[CLIENT_MESSAGE_SIZE]; /* why not, in one line; "" for an answer below 400 */
};

/* 0 with an answer of any status, -EIO with none. bytes_release() the body in any case. */
int client_exchange(struct client *client, const struct client_request *request,
		    struct client_answer *ret_answer);

/* A path with parameters, values percent-encoded: client_path(client, &path, "/v1/services",
 * "last", "5m", NULL). */
int client_path(struct client *client, struct bytes *ret_path, const char *path, ...)
	__attribute__((sentinel));

/* Appends @path, which begins with a slash, percent-encoded but for its slashes, and a NUL. */
int client_escape_path(struct client *client, struct bytes *ret_path, const char *path);

#include "common/scoped.h"
DEFINE_SCOPED(struct client *, client_free);

#define scoped_bytes scoped(bytes_release)

/* Larger answers are refused: what a terminal shows comes from far less. */
#define CLIENT_MAX_ANSWER_BYTES (512 * MIB)
