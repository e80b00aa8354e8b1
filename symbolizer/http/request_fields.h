/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Copies the headers or parameters of a request from the library into an array. Private to this
 * folder.
 */

#include <microhttpd.h>

#include "symbolizer/http/message.h"

/*
 * Collects all fields of @kind, in order. The caller frees the array. Its texts belong to the
 * connection and live until the request is completed. If there is no field, nothing is returned.
 * Returns 0 or -ENOMEM.
 */
int request_fields_collect(struct MHD_Connection *connection, enum MHD_ValueKind kind,
			   const struct http_field **ret_fields, size_t *ret_count);
