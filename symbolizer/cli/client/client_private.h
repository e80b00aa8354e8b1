/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What the files of the client share. */

#include <curl/curl.h>

#include "symbolizer/cli/client/client.h"

struct client {
	CURL *curl;
	struct curl_slist *headers;      /* of every request */
	struct curl_slist *json_headers; /* of those with a JSON body: the same, and its type */
	char *server;                    /* without a slash at the end */
	char curl_message[CURL_ERROR_SIZE];
};

/* Sets what all requests have in common, and runs the one that was prepared. *ret_status 0: no
 * answer. */
CURLcode client_run(struct client *client, const char *path_and_query, struct bytes *body,
		    long *ret_status);

/* What the server says about its refusal: its envelope, {"error": ...}, or a short text; ends with
 * NUL. */
void client_find_words(struct bytes_view body, struct bytes *ret_words);
