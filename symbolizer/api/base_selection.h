/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The base of a comparison: parameters that begin with "base_" replace those of the selection. All
 * other parameters are those of the selection. A base without a time has the range of the
 * selection; one with only an end has its length.
 */

#include "symbolizer/api/profile_parameters.h"

/* Returns 0, or -EINVAL with a message if the request has no base. */
int base_selection_check(const struct http_request *request,
			 char ret_message[PARAMETERS_MESSAGE_SIZE]);

/* Parses the base of the selection @after, like profile_parameters_parse(). -ENOMEM has no
 * message. Texts of *ret_base belong to the request and to @arena. */
int base_selection_parse(struct api_context *context, struct store_view *view,
			 const struct http_request *request, struct arena *arena,
			 const struct profile_parameters *after,
			 struct profile_parameters *ret_base,
			 char ret_message[PARAMETERS_MESSAGE_SIZE]);
