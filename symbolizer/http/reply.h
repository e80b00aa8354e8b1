/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A response in the form in which it is sent. Private to this folder.
 */

#include <microhttpd.h>

#include "symbolizer/http/message.h"

/*
 * For the library, or NULL without memory. A body in memory stays with @response, which must live
 * until it is sent; a file is taken over. @closes: the connection ends with it.
 */
struct MHD_Response *reply_make(struct http_response *response, bool closes);

/*
 * Writes an error to the socket @fd, without the library, which takes no answer in the middle of a
 * body. Nothing else of this connection is being written then. The caller ends the connection.
 * @with_body is false for HEAD. @unix_s is the time. Returns whether all of it fit into the
 * socket's buffer: it does not if the client has not read the answers to its requests before this
 * one.
 */
bool reply_write_early(int fd, const struct http_response *response, bool with_body,
		       uint64_t unix_s);
