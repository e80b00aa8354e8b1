/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Whether the headers of a request agree on where it ends. A proxy and this server must find the
 * same end: otherwise a client could hide a second request in the body of the first, past the
 * checks of the proxy.
 */

#include "symbolizer/http/message.h"

/*
 * NULL, or why the request is refused with 400 and its connection closed. @version is "HTTP/1.1" or
 * "HTTP/1.0".
 */
const char *framing_objection(const struct http_request *request, const char *version);
