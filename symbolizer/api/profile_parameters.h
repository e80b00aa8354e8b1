/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A selection in a query string: service, event, filter, group_by, the time range, fold_threads,
 * max_nodes and max_kernel_stack_depth. The same words everywhere that a profile is asked for with
 * GET.
 */

#include "symbolizer/api/time_range.h"
#include "symbolizer/query/profile.h"

/* One hour of a service is what somebody looks at who does not say. */
#define PROFILE_DEFAULT_LAST_NS (3600 * NSEC_PER_SEC)

struct profile_parameters {
	struct profile_request profile; /* texts belong to the request */
	struct time_range range;
};

#define PARAMETERS_MESSAGE_SIZE 384

/* 0, or -EINVAL with a message that names the parameter. */
int profile_parameters_parse(const struct http_request *request, const struct clock *clock,
			     struct profile_parameters *ret_parameters,
			     char ret_message[PARAMETERS_MESSAGE_SIZE]);

/* A whole number in [min, max]; @fallback when the parameter is absent. 0 or -EINVAL with a
 * message. */
int parameter_integer(const struct http_request *request, const char *name, int64_t min,
		      int64_t max, int64_t fallback, int64_t *ret_value,
		      char ret_message[PARAMETERS_MESSAGE_SIZE]);
