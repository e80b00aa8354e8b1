/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Sends requests to the server, one at a time, over kept connections. A client belongs to one
 * thread; only http_client_wake() may be called from others.
 */

#include "common/bytes.h"

struct http_client;

/* Strings are copied. */
struct http_client_options {
	const char *server;  /* "http://host:port"; a path and a query after it are kept */
	const char *token;   /* NULL or "": none */
	const char *ca_file; /* NULL or "": the system's CA certificates */
	bool insecure_tls;
};

int http_client_new(const struct http_client_options *options, struct http_client **ret_client);
struct http_client *http_client_free(struct http_client *client);

/* Makes the request in progress call its watch() at once. */
void http_client_wake(struct http_client *client);

struct http_request {
	const char *path;         /* "/v1/ingest" */
	const char *content_type; /* of the body */
	const char *header;       /* another "Name: value"; NULL: none */

	/* GET, without a body; else POST of @body, or PUT of @size bytes from @read if not NULL */
	bool get;
	struct bytes_view body;
	uint64_t size;
	/* reads exactly @size bytes; 0 or negative errno */
	int (*read)(void *argument, void *buffer, size_t size);
	int (*rewind)(void *argument); /* back to the first byte */

	uint64_t timeout_ns;      /* of the whole request; 0: only a stall of STALL_S ends it */
	uint64_t max_bytes_per_s; /* 0: no limit */

	/* called several times a second; false cancels the request (-ECANCELED) */
	bool (*watch)(void *argument);
	void *argument; /* of read, rewind and watch */
};

#define HTTP_MESSAGE_SIZE 256

struct http_answer {
	long status;
	struct bytes body; /* the caller sets its ceiling; a longer body fails the request */
	char message[HTTP_MESSAGE_SIZE]; /* why the request failed */
};

/* 0: status and body are set; -ECANCELED; -EIO and other errors: message is set. */
int http_client_request(struct http_client *client, const struct http_request *request,
			struct http_answer *answer);

#include "common/scoped.h"
DEFINE_SCOPED(struct http_client *, http_client_free);
