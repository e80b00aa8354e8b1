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

/* Parses the base of the selection @after. -ENOMEM has no message. */
static int parse_base(struct api_context *context, struct store_view *view,
		      const struct http_request *request, struct arena *arena,
		      const struct profile_parameters *after, struct profile_parameters *ret_base,
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

bool compared_sides_read(struct api_context *context, struct store_view *view,
			 const struct http_request *request, struct http_response *response,
			 struct arena *arena, struct compared_sides *sides)
{
	char message[PARAMETERS_MESSAGE_SIZE] = "";
	int r;

	r = profile_parameters_parse(context, view, request, &sides->after.parameters, message);
	if (r == 0)
		r = parse_base(context, view, request, arena, &sides->after.parameters,
			       &sides->base.parameters, message);
	if (r < 0 && !answer_refused_memory(context, r, sides->refused, response))
		http_response_error(response, r == -EINVAL ? 400 : 500, "%s",
				    message[0] ? message : strerror(-r));
	return r == 0;
}

bool compared_side_found(const struct compared_sides *sides, const struct compared_side *side,
			 int r, struct http_response *response)
{
	const char *name = side == &sides->base ? "the base: " : "";

	if (r == 0 || r == -EINVAL)
		http_response_error(response, r == 0 ? 404 : 400, "%s%s", name, side->message);
	else if (r < 0 && !answer_request_error(response, r, side->message))
		http_response_error(response, 500, "%s%s", name, side->message);
	return r > 0;
}

void compared_side_write(struct json_writer *json, const char *key,
			 const struct compared_side *side, uint64_t total)
{
	const struct profile_request *profile = &side->parameters.profile;

	json_key(json, key);
	json_object_begin(json);
	json_key(json, "service");
	if (profile->service)
		json_text(json, profile->service);
	else
		json_null_value(json);
	json_key_text(json, "filter", profile->tag_filter ? profile->tag_filter : "");
	json_key_uint(json, "since", side->parameters.range.since_wall_ns / NSEC_PER_SEC);
	json_key_uint(json, "until", side->parameters.range.until_wall_ns / NSEC_PER_SEC);
	json_key_uint(json, "total", answer_value(profile_event(profile), total));
	answer_samples(json, &side->stats);
	if (profile->n_blocks > 0)
		json_key_uint(json, "blocks", side->stats.n_blocks);
	json_key_uint(json, "covered_s", side->stats.covered_s);
	json_key_text(json, "message", side->message);
	json_object_end(json);
}
