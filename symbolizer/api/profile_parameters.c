/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Parameters are checked one after another; the message names the first invalid one.
 */

#include "symbolizer/api/profile_parameters.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

int parameter_integer(const struct http_request *request, const char *name, int64_t min,
		      int64_t max, int64_t fallback, int64_t *ret_value,
		      char ret_message[PARAMETERS_MESSAGE_SIZE])
{
	const char *text = http_request_parameter(request, name);
	long long value = fallback;
	char *end = NULL;

	errno = 0;
	if (text)
		value = strtoll(text, &end, 10);
	if (errno || (text && *end) || value < min || value > max) {
		(void)snprintf(ret_message, PARAMETERS_MESSAGE_SIZE,
			       "%s: '%.40s' is no whole number between %" PRId64 " and %" PRId64,
			       name, text, min, max);
		return -EINVAL;
	}
	*ret_value = value;
	return 0;
}

static int parameter_flag(const struct http_request *request, const char *name, bool *ret_value,
			  char ret_message[PARAMETERS_MESSAGE_SIZE])
{
	static const char *const words[] = { "false", "true", "0", "1", "no", "yes" };
	const char *text = http_request_parameter(request, name);

	if (!text)
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		if (strcasecmp(text, words[i]) == 0) {
			*ret_value = i % 2;
			return 0;
		}
	}
	(void)snprintf(ret_message, PARAMETERS_MESSAGE_SIZE,
		       "%s: '%.40s' is neither true nor false", name, text);
	return -EINVAL;
}

static int read_event(struct store_view *view, const struct http_request *request,
		      struct profile_parameters *parameters,
		      char ret_message[PARAMETERS_MESSAGE_SIZE])
{
	const char *name = http_request_parameter(request, "event");
	char reason[PROFILE_MESSAGE_SIZE];
	int r;

	r = answer_find_event(view, name ? name : "on-cpu", &parameters->event,
			      &parameters->profile, reason);
	if (r < 0)
		(void)snprintf(ret_message, PARAMETERS_MESSAGE_SIZE, "event: %.*s",
			       PARAMETERS_MESSAGE_SIZE - (int)sizeof("event: "), reason);
	return r;
}

static int read_options(const struct http_request *request, struct profile_request *profile,
			char ret_message[PARAMETERS_MESSAGE_SIZE])
{
	int64_t max_nodes, kernel_depth;
	bool inlines = true;
	int r;

	r = parameter_flag(request, "fold_threads", &profile->fold_threads, ret_message);
	if (r < 0)
		return r;
	r = parameter_flag(request, "inlines", &inlines, ret_message);
	if (r < 0)
		return r;
	r = parameter_flag(request, "function_starts", &profile->function_starts, ret_message);
	if (r < 0)
		return r;
	profile->no_inlines = !inlines;
	r = parameter_integer(request, "max_nodes", 0, UINT32_MAX, 0, &max_nodes, ret_message);
	if (r < 0)
		return r;
	r = parameter_integer(request, "max_kernel_stack_depth", -1, INT_MAX, -1, &kernel_depth,
			      ret_message);
	if (r < 0)
		return r;
	profile->max_nodes = (uint32_t)max_nodes;
	profile->max_kernel_stack_depth = (int)kernel_depth;
	return 0;
}

int profile_parameters_parse(struct api_context *context, struct store_view *view,
			     const struct http_request *request,
			     struct profile_parameters *ret_parameters,
			     char ret_message[PARAMETERS_MESSAGE_SIZE])
{
	struct profile_parameters parameters = {
		.profile = {
			.service = http_request_parameter(request, "service"),
			.tag_filter = http_request_parameter(request, "filter"),
			.group_by = http_request_parameter(request, "group_by"),
			.function_starts = true,
		},
	};
	int r;

	r = read_options(request, &parameters.profile, ret_message);
	if (r < 0)
		return r;
	r = time_range_parse(request, context->clock, PROFILE_DEFAULT_LAST_NS, &parameters.range,
			     ret_message);
	if (r < 0)
		return r;
	parameters.profile.from_slot = parameters.range.from_slot;
	parameters.profile.to_slot = parameters.range.to_slot;
	*ret_parameters = parameters;
	/* The profile refers to the description in the same structure. */
	return read_event(view, request, ret_parameters, ret_message);
}

bool profile_parameters_read(struct api_context *context, struct store_view *view,
			     const struct http_request *request, struct http_response *response,
			     struct profile_parameters *ret_parameters)
{
	char message[PARAMETERS_MESSAGE_SIZE];
	int r = profile_parameters_parse(context, view, request, ret_parameters, message);

	if (r < 0)
		http_response_error(response, r == -EINVAL ? 400 : 500, "%s", message);
	return r == 0;
}

bool parameter_limit(const struct http_request *request, struct http_response *response,
		     int64_t max, int64_t fallback, int64_t *ret_limit)
{
	char message[PARAMETERS_MESSAGE_SIZE];

	if (parameter_integer(request, "limit", 1, max, fallback, ret_limit, message) == 0)
		return true;
	http_response_error(response, 400, "%s", message);
	return false;
}
