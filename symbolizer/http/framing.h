/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Checks that the headers of a request agree on its end. A proxy and this server must find the same
 * end. Otherwise a client could hide a second request in the body of the first one, and bypass the
 * checks of the proxy (request smuggling).
 */

#include "symbolizer/http/message.h"

/*
 * Returns NULL, or the reason to refuse the request with 400 and close its connection. @version is
 * "HTTP/1.1" or "HTTP/1.0".
 */
const char *framing_objection(const struct http_request *request, const char *version);
