/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Finds a field of a form (multipart/form-data, RFC 7578). Pure function. */

#include "common/bytes.h"

/*
 * @content_type: the value of the header, which has the boundary. 1: found, *ret_value is in @body;
 * 0: the form has no such field; -EBADMSG: no boundary, or a part does not end.
 */
int multipart_find(const char *content_type, struct bytes_view body, const char *field,
		   struct bytes_view *ret_value);

/* Whether the header Content-Type is that of a form. */
bool multipart_is_form(const char *content_type);
