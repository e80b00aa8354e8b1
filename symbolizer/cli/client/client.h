/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Sends requests to the HTTP API of the server with libcurl, one at a time. Functions log errors to
 * stderr with a remedy if there is one, unless they say otherwise; callers only give up.
 */

#include "common/bytes.h"
#include "symbolizer/cli/options/options.h"

struct client;

#define CLIENT_MESSAGE_SIZE 512

/*
 * Checks whether client_new() can use the token, if one is configured. Returns 0, or a negative
 * errno and sets @ret_message to one line with the reason. Logs nothing.
 */
int client_check_token(const struct connection_options *options,
		       char ret_message[CLIENT_MESSAGE_SIZE]);

/* Reads the token file if one is configured. Logs an error and returns a negative errno. */
int client_new(const struct connection_options *options, struct client **ret_client);
struct client *client_free(struct client *client);

/*
 * GET @path_and_query ("/v1/hosts"), or POST with a JSON body. Appends the body of an answer with
 * status 200 or 201 to @ret_body. For any other status: logs it and returns -EIO, or -EINVAL if the
 * URL is wrong or the server refused the arguments.
 */
int client_get(struct client *client, const char *path_and_query, struct bytes *ret_body);
int client_post_json(struct client *client, const char *path, struct bytes_view json,
		     struct bytes *ret_body);

/* A file that the server made from a profile. */
struct client_download {
	struct bytes body;                 /* the caller releases it in any case */
	unsigned int n_tables_pending;     /* names are missing that the server will have soon */
	char message[CLIENT_MESSAGE_SIZE]; /* why there is no data */
};

/*
 * GET @path_and_query. Returns 1 with the file, or 0 if there are no data. Logs other errors as
 * client_get() does, and returns the same.
 */
int client_get_download(struct client *client, const char *path_and_query,
			struct client_download *ret_download);

/* A request of client_exchange(). */
struct client_request {
	const char *method;
	const char *path;
	const char *header;     /* an additional header, "Name: value"; NULL: none */
	struct bytes_view json; /* a JSON body, if its data is not NULL */
	int fd; /* the body of a PUT or POST: @size bytes of this file from @offset */
	uint64_t offset;
	uint64_t size;
	_Atomic uint64_t *n_sent; /* is increased by the number of bytes sent; NULL: not counted */
};

struct client_answer {
	long status; /* 0: no answer */
	struct bytes body;
	uint64_t date_s; /* the header Date, the clock of the server; 0: not given */
	char message[CLIENT_MESSAGE_SIZE]; /* error in one line; "": status below 400 */
};

/*
 * Sends a request and leaves the judgement of the answer to the caller: logs nothing. Returns 0 for
 * an answer with any status, -EIO without an answer. The caller releases the body in any case.
 */
int client_exchange(struct client *client, const struct client_request *request,
		    struct client_answer *ret_answer);

/*
 * Appends @path, pairs of a parameter's name and value, and a NUL; percent-encodes the values:
 * client_path(client, &path, "/v1/services", "last", "5m", NULL).
 */
int client_path(struct client *client, struct bytes *ret_path, const char *path, ...)
	__attribute__((sentinel));

/* Appends @path, which begins with a slash, and a NUL; percent-encodes all but the slashes. */
int client_escape_path(struct client *client, struct bytes *ret_path, const char *path);

#include "common/scoped.h"
DEFINE_SCOPED(struct client *, client_free);

#define scoped_bytes scoped(bytes_release)

/* Larger answers are refused; answers that fit a terminal are far smaller. */
#define CLIENT_MAX_ANSWER_BYTES (512 * MIB)
