/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "symbolizer/http/message.h"

/* Smaller bodies fit one packet anyway. */
#define GZIP_MIN_BYTES 1024

/*
 * Compresses the response's body in place if the request accepts gzip, the body is worth it, and
 * its content type is text of some kind. Adds Content-Encoding and Vary. Out of memory leaves the
 * body as it is.
 */
void gzip_response(const struct http_request *request, struct http_response *response);
