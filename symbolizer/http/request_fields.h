/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The headers and parameters of a request, taken from the library into an array. Private to this
 * folder.
 */

#include <microhttpd.h>

#include "symbolizer/http/message.h"

/*
 * All fields of @kind in their order. The caller frees the array; its texts belong to the
 * connection and live until the request is completed. Without any field nothing is returned. 0 or
 * -ENOMEM.
 */
int request_fields_collect(struct MHD_Connection *connection, enum MHD_ValueKind kind,
			   const struct http_field **ret_fields, size_t *ret_count);
