/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Converts a struct http_response to a response of the HTTP library (libmicrohttpd), or writes it
 * to a socket. Private to this folder.
 */

#include <microhttpd.h>

#include "symbolizer/http/message.h"

/*
 * Returns the response for the library, or NULL if memory is short. A body in memory is not copied,
 * so @response must live until the library has sent it. The library takes over a file descriptor of
 * @response and closes it. @closes: the connection ends after this response.
 */
struct MHD_Response *reply_make(struct http_response *response, bool closes);

/*
 * Writes an error response directly to the socket @fd while the client still sends the body of its
 * request, because the library cannot send a response at that time. Nothing else must write to the
 * connection during the call, and the caller must end the connection afterwards. @with_body is
 * false for HEAD. @unix_s is the current time.
 *
 * Returns whether the whole response fitted into the socket's buffer. The response may not fit if
 * the client has not read the answers to its previous requests.
 */
bool reply_write_early(int fd, const struct http_response *response, bool with_body,
		       uint64_t unix_s);
