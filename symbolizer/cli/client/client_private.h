/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Shared by client.c and client_exchange.c only. */

#include <curl/curl.h>

#include "symbolizer/cli/client/client.h"

struct client {
	CURL *curl;
	struct curl_slist *headers;      /* of every request */
	struct curl_slist *json_headers; /* of requests with a JSON body: the same and its type */
	char *server;                    /* URL without a slash at the end */
	char curl_message[CURL_ERROR_SIZE];
};

/*
 * Sets the options that all requests have in common, and performs the request. *ret_status 0: no
 * answer.
 */
CURLcode client_run(struct client *client, const char *path_and_query, struct bytes *body,
		    long *ret_status);

/*
 * Appends the server's error message and a NUL: the value of "DESCRIPTION" or "error" in a JSON
 * body, or the whole body if it is a short text.
 */
void client_find_message(struct bytes_view body, struct bytes *ret_message);
