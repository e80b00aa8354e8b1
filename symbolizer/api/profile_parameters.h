/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The parameters of a profile in a query string: service, event, filter, group_by, fold_threads,
 * inlines, function_starts, max_nodes, max_kernel_stack_depth, and the time range. All GET routes
 * with profiles use the same parameters.
 */

#include "symbolizer/api/answer.h"
#include "symbolizer/api/time_range.h"
#include "symbolizer/query/profile.h"

/* The default time range is one hour. */
#define PROFILE_DEFAULT_LAST_NS (3600 * NSEC_PER_SEC)

struct profile_parameters {
	struct profile_request profile; /* its texts belong to the request */
	struct time_range range;
	struct answer_event event; /* if only the store has the event type */
};

#define PARAMETERS_MESSAGE_SIZE 384

/*
 * The event type may be a handle of @view. Returns 0; -EINVAL with a message that names the
 * parameter; another negative errno with a message if the store failed. Do not copy or move
 * *ret_parameters.
 */
int profile_parameters_parse(struct api_context *context, struct store_view *view,
			     const struct http_request *request,
			     struct profile_parameters *ret_parameters,
			     char ret_message[PARAMETERS_MESSAGE_SIZE]);

/* The same. Returns false after filling @response with an error. */
bool profile_parameters_read(struct api_context *context, struct store_view *view,
			     const struct http_request *request, struct http_response *response,
			     struct profile_parameters *ret_parameters);

/* Parses a whole number in [min, max]; @fallback if the parameter is absent. Returns 0, or
 * -EINVAL with a message. */
int parameter_integer(const struct http_request *request, const char *name, int64_t min,
		      int64_t max, int64_t fallback, int64_t *ret_value,
		      char ret_message[PARAMETERS_MESSAGE_SIZE]);

/* Parses the parameter "limit", at least 1. Returns false after filling @response with an error. */
bool parameter_limit(const struct http_request *request, struct http_response *response,
		     int64_t max, int64_t fallback, int64_t *ret_limit);
