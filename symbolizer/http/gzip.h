/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Compresses answers with gzip.
 */

#include "symbolizer/http/message.h"

/* A smaller body fits one network packet uncompressed. */
#define GZIP_MIN_BYTES 1024

/*
 * Compresses the body of @response in place if @request accepts gzip, the body has at least
 * GZIP_MIN_BYTES, and its content type is text. Adds the headers Content-Encoding and Vary. The
 * body stays uncompressed if memory is short.
 */
void gzip_response(const struct http_request *request, struct http_response *response);
