/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/api/base_selection.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define BASE_PREFIX "base_"

static bool is_time(const char *name)
{
	return strcmp(name, "last") == 0 || strcmp(name, "since") == 0 ||
	       strcmp(name, "until") == 0;
}

/* Returns the value of base_@name, or NULL. */
static const char *base_parameter(const struct http_request *request, const char *name)
{
	char with_prefix[64];

	(void)snprintf(with_prefix, sizeof(with_prefix), BASE_PREFIX "%s", name);
	return http_request_parameter(request, with_prefix);
}

static bool has_base_time(const struct http_request *request)
{
	return base_parameter(request, "last") || base_parameter(request, "since") ||
	       base_parameter(request, "until");
}

/*
 * Fills @fields with the parameters of the base: those of the request, replaced by those with the
 * prefix. A base time without a length has the length of the selection's range, @last.
 */
static size_t base_parameters(const struct http_request *request, const char *last,
			      struct http_field *fields)
{
	const bool own_time = has_base_time(request);
	const bool own_length = base_parameter(request, "last") || base_parameter(request, "since");
	size_t count = 0;

	for (size_t i = 0; i < request->n_parameters; i++) {
		const struct http_field *field = &request->parameters[i];

		if (strncmp(field->name, BASE_PREFIX, strlen(BASE_PREFIX)) == 0)
			fields[count++] = (struct http_field){ field->name + strlen(BASE_PREFIX),
							       field->value };
		else if (!base_parameter(request, field->name) &&
			 !(own_time && is_time(field->name)))
			fields[count++] = *field;
	}
	if (own_time && !own_length)
		fields[count++] = (struct http_field){ "last", last };
	return count;
}

int base_selection_check(const struct http_request *request,
			 char ret_message[PARAMETERS_MESSAGE_SIZE])
{
	if (base_parameter(request, "event")) {
		(void)snprintf(ret_message, PARAMETERS_MESSAGE_SIZE,
			       "base_event: both sides have the same event type");
		return -EINVAL;
	}
	if (has_base_time(request) || base_parameter(request, "service") ||
	    base_parameter(request, "filter"))
		return 0;
	(void)snprintf(ret_message, PARAMETERS_MESSAGE_SIZE,
		       "the base is missing: give base_since, base_until, base_last, "
		       "base_service or base_filter");
	return -EINVAL;
}

int base_selection_parse(struct api_context *context, struct store_view *view,
			 const struct http_request *request, struct arena *arena,
			 const struct profile_parameters *after,
			 struct profile_parameters *ret_base,
			 char ret_message[PARAMETERS_MESSAGE_SIZE])
{
	const struct time_range *range = &after->range;
	struct http_request base_request = *request;
	struct http_field *fields =
		arena_alloc_array(arena, request->n_parameters + 1, sizeof(*fields));
	const char *last =
		arena_format(arena, "%" PRIu64 "ms",
			     (range->until_wall_ns - range->since_wall_ns) / NSEC_PER_MSEC);
	int r;

	if (!fields || !last)
		return -ENOMEM;
	base_request.parameters = fields;
	base_request.n_parameters = base_parameters(request, last, fields);
	r = profile_parameters_parse(context, view, &base_request, ret_base, ret_message);
	if (r < 0)
		return r;
	if (!has_base_time(request)) {
		ret_base->range = *range;
		ret_base->profile.from_slot = range->from_slot;
		ret_base->profile.to_slot = range->to_slot;
	}
	return 0;
}
