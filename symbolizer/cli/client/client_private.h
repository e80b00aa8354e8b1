/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Shared by the files of the client. */

#include <curl/curl.h>

#include "symbolizer/cli/client/client.h"

struct client {
	CURL *curl;
	struct curl_slist *headers;      /* of every request */
	struct curl_slist *json_headers; /* the same and Content-Type: for a JSON body */
	char *server;                    /* without a slash at the end */
	char curl_message[CURL_ERROR_SIZE];
};

/* Sets the options that all requests need, and performs the request that the caller prepared in
 * client->curl. *ret_status is 0 if there is no answer. */
CURLcode client_run(struct client *client, const char *path_and_query, struct bytes *body,
		    long *ret_status);

/* Appends the error message of an answer, and a NUL. The body is {"error": ...} or a short plain
 * text. */
void client_find_words(struct bytes_view body, struct bytes *ret_words);
