/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* A query as a request of curl: its URL, headers and body. */

#include <curl/curl.h>

#include "symbolizer/store/clickhouse/client.h"

/* What all requests of a client have in common; copied from its options. */
struct request_settings {
	bool is_cluster;
	char *database; /* or NULL */
	char *user_header;
	char *password_header; /* or NULL */
	char *ca_file;         /* or NULL */
};

/* Returns 0 or -ENOMEM. *settings is zeroed before, and released in any case. */
int request_settings_init(struct request_settings *settings,
			  const struct clickhouse_options *options);
void request_settings_release(struct request_settings *settings);

/* The parts that curl does not copy: they must live until the transfer has ended. */
struct client_request {
	struct bytes url;
	struct curl_slist *headers;
	curl_mime *form;
};

#define CLIENT_REQUEST_INIT                                                                        \
	{                                                                                          \
		.url = BYTES_INIT(CLICKHOUSE_MAX_URL_BYTES)                                        \
	}

/*
 * Sets all options of @easy but those of the answer. @server is the URL of the server. Returns 0,
 * -E2BIG if the query is too long, or -ENOMEM.
 */
int client_request_set(struct client_request *request, CURL *easy,
		       const struct request_settings *settings, const char *server,
		       const char *query_id, const struct clickhouse_query *query);
void client_request_release(struct client_request *request);
