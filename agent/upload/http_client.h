/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Requests to the server, one at a time over connections that are kept. One client belongs to one
 * thread; only http_client_wake() may be called from others.
 */

#include "common/bytes.h"

struct http_client;

/* Strings are copied. */
struct http_client_options {
	const char *server;  /* "http://host:port"; a path behind it is kept */
	const char *token;   /* NULL or "": none */
	const char *ca_file; /* NULL or "": the system's */
	bool insecure_tls;
};

int http_client_new(const struct http_client_options *options, struct http_client **ret_client);
struct http_client *http_client_free(struct http_client *client);

/* Makes the request in progress ask its watch() at once. */
void http_client_wake(struct http_client *client);

struct http_request {
	const char *path; /* "/v1/ingest" */
	const char *content_type;
	const char *header; /* one more "Name: value", or NULL */

	/* POST of @body, or, with @read, PUT of @size bytes from there. */
	struct bytes_view body;
	uint64_t size;
	/* exactly @size bytes; 0 or negative errno */
	int (*read)(void *argument, void *buffer, size_t size);
	int (*rewind)(void *argument); /* to the first byte again */

	uint64_t timeout_ns;      /* of the whole; 0: only a stall of STALL_S ends it */
	uint64_t max_bytes_per_s; /* 0: no limit */

	/* Asked several times a second; false gives the request up (-ECANCELED). */
	bool (*watch)(void *argument);
	void *argument; /* of read, rewind and watch */
};

#define HTTP_MESSAGE_SIZE 256

struct http_answer {
	long status;
	struct bytes body; /* the caller sets its ceiling; what is beyond fails the request */
	char message[HTTP_MESSAGE_SIZE]; /* why it failed */
};

/* 0 with status and body; -ECANCELED; -EIO and others with a message. */
int http_client_request(struct http_client *client, const struct http_request *request,
			struct http_answer *answer);

#include "common/scoped.h"
DEFINE_SCOPED(struct http_client *, http_client_free);
