/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Converts a struct http_response for sending. Private to this folder.
 */

#include <microhttpd.h>

#include "symbolizer/http/message.h"

/*
 * Returns the response for the library, or NULL if memory is short. A body in memory stays in
 * @response, which must live until it is sent. A file in @response becomes the library's. @closes:
 * the connection ends after this response.
 */
struct MHD_Response *reply_make(struct http_response *response, bool closes);

/*
 * Writes an error response to the socket @fd while the client sends the body. The library cannot do
 * this. No other bytes are being written to this connection at that time. The caller ends the
 * connection. @with_body is false for HEAD. @unix_s is the current time.
 *
 * Returns whether the whole response fitted the socket's buffer. It does not fit if the client has
 * not read the answers to its previous requests.
 */
bool reply_write_early(int fd, const struct http_response *response, bool with_body,
		       uint64_t unix_s);
