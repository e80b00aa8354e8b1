/* SPDX-License-Identifier: Apache-2.0 */

/*
 * GET /v1/regressions: the functions that cost more in a selection than in its base, beyond chance.
 */

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "symbolizer/api/answer.h"
#include "symbolizer/api/base_selection.h"
#include "symbolizer/query/profile_message.h"
#include "symbolizer/query/regressions.h"

/* 512 bytes for self and as much for total of each function, and its rows. */
#define ARENA_BYTES (512 * MIB)

#define DEFAULT_COUNT 50
#define MAX_COUNT     100000

struct comparison {
	struct compared_sides sides;
	double confidence;
	int64_t limit;
	struct arena *arena;
	struct function_shares *shares;
	struct regressions found;
};

static const char *const kind_keys[] = {
	[REGRESSION_REGRESSED] = "regressions",
	[REGRESSION_MOVED] = "moved",
	[REGRESSION_WENT_AWAY] = "went_away",
	[REGRESSION_IMPROVED] = "improved",
};

static_assert(ARRAY_SIZE(kind_keys) == REGRESSION_KIND_COUNT, "every kind needs a key");

/* Returns false after filling @response with an error. */
static bool read_options(const struct http_request *request, struct http_response *response,
			 struct comparison *comparison)
{
	const char *text = http_request_parameter(request, "confidence");
	char message[PARAMETERS_MESSAGE_SIZE] = "";
	double percent = 100 * REGRESSIONS_CONFIDENCE;
	char *end = NULL;

	if (text)
		percent = strtod(text, &end);
	if ((text && (end == text || *end)) || !(percent >= 50 && percent < 99.99999))
		(void)snprintf(message, sizeof(message),
			       "confidence: '%.40s' is no percentage from 50 to 99.9999", text);
	else
		(void)base_selection_check(request, message);
	comparison->confidence = percent / 100;
	if (!message[0])
		return parameter_limit(request, response, MAX_COUNT, DEFAULT_COUNT,
				       &comparison->limit);
	http_response_error(response, 400, "%s", message);
	return false;
}

static bool is_refused(const struct profile_request *profile, struct http_response *response)
{
	if (profile_event(profile)->kind == EVENT_VALUE_STATE)
		http_response_error(response, 400,
				    "event: '%s' is the state at one moment, so that chance cannot "
				    "be estimated: use /v1/diff",
				    profile_event(profile)->name);
	else if (profile->service && strcmp(profile->service, "Total") == 0)
		http_response_error(response, 400,
				    "service: Total has no functions: name a service or a filter");
	return response->status == 400;
}

/* Returns false after filling @response with an error. */
static bool query_side(struct api_context *context, struct store_view *view,
		       struct comparison *comparison, struct compared_side *side,
		       struct http_response *response)
{
	const bool is_after = side == &comparison->sides.after;
	const struct stack_visitor visitor = function_shares_visitor(comparison->shares, is_after);
	struct profile_request *profile = &side->parameters.profile;
	int r;

	profile->n_blocks = FUNCTION_SHARES_BLOCKS;
	/* Threads are no functions. */
	profile->fold_threads = true;
	profile->group_by = NULL;
	r = answer_stacks(context, view, profile, &visitor, &side->stats, side->message);
	if (is_after)
		answer_headers(response, profile_event(profile), &side->stats);
	return compared_side_found(&comparison->sides, side, r, response);
}

/* Rounds a share to 1/10000 of a per cent. */
static double percent(double share)
{
	return round(share * 1e6) / 1e4;
}

static void write_interval(struct json_writer *json, const char *key,
			   struct share_interval interval)
{
	json_key(json, key);
	json_array_begin(json);
	json_double(json, percent(interval.low));
	json_double(json, percent(interval.high));
	json_array_end(json);
}

static void write_share(struct json_writer *json, const char *key, double share)
{
	json_key(json, key);
	json_double(json, percent(share));
}

static void write_row_samples(struct json_writer *json, const char *key,
			      const struct share_estimate *estimate)
{
	json_key(json, key);
	if (estimate->samples > 0)
		json_uint(json, (uint64_t)llround(estimate->share * estimate->samples));
	else
		json_null_value(json);
}

static void write_row(struct json_writer *json, const struct regression *row)
{
	json_object_begin(json);
	json_key_text(json, "function", row->label);
	json_key(json, "type");
	json_text_sized(json, &row->type, 1);
	json_key_text(json, "of", row->by_total ? "total" : "self");
	write_share(json, "base_share", row->base.share);
	write_interval(json, "base_interval", row->base_interval);
	write_row_samples(json, "base_samples", &row->base);
	write_share(json, "share", row->after.share);
	write_interval(json, "interval", row->after_interval);
	write_row_samples(json, "samples", &row->after);
	write_share(json, "change", row->change);
	write_interval(json, "change_interval", row->change_interval);
	/* Not a number for a function that the base lacks: null. */
	write_share(json, "growth", row->growth);
	if (row->within)
		json_key_text(json, "within", row->within);
	json_object_end(json);
}

static void write_kind(struct json_writer *json, const struct comparison *comparison,
		       enum regression_kind kind)
{
	int64_t written = 0;

	json_key(json, kind_keys[kind]);
	json_array_begin(json);
	for (size_t i = 0; i < comparison->found.count && written < comparison->limit; i++) {
		if (comparison->found.rows[i].kind != kind)
			continue;
		write_row(json, &comparison->found.rows[i]);
		written++;
	}
	json_array_end(json);
}

static void write_answer(const struct comparison *comparison, struct http_response *response)
{
	const struct compared_side *base = &comparison->sides.base;
	const struct compared_side *after = &comparison->sides.after;
	const struct event_type_info *event = profile_event(&after->parameters.profile);
	struct json_writer json;

	json_writer_init(&json, &response->body);
	json_object_begin(&json);
	json_key_text(&json, "event", event->name);
	json_key_text(&json, "unit", answer_unit_name(event));
	json_key(&json, "confidence");
	json_double(&json, percent(comparison->confidence));
	compared_side_write(&json, "base", base, base->stats.value_total);
	compared_side_write(&json, "after", after, after->stats.value_total);
	json_key_uint(&json, "judged", comparison->found.n_judged);
	json_key(&json, "scale");
	json_double(&json, comparison->found.scale);
	for (unsigned int kind = 0; kind < REGRESSION_KIND_COUNT; kind++)
		write_kind(&json, comparison, kind);
	json_object_end(&json);
}

static void compare(const struct api_context *context, struct comparison *comparison,
		    struct http_response *response)
{
	const struct regressions_input input = {
		.shares = comparison->shares,
		.base_period = (double)comparison->sides.base.stats.longest_period_ns,
		.after_period = (double)comparison->sides.after.stats.longest_period_ns,
		.n_base_blocks = comparison->sides.base.stats.n_blocks,
		.n_after_blocks = comparison->sides.after.stats.n_blocks,
		.confidence = comparison->confidence,
	};
	int r = function_shares_finish(comparison->shares);

	if (function_shares_shortened(comparison->shares) > 0)
		profile_message_append(
			comparison->sides.after.message,
			"the inner frames of %llu stacks were left out, because both "
			"sides have more than %u different call paths: choose a "
			"shorter time or a filter",
			(unsigned long long)function_shares_shortened(comparison->shares),
			FUNCTION_SHARES_MAX_NODES);
	if (r == 0)
		r = regressions_find(&input, comparison->arena, &comparison->found);
	if (r == 0)
		write_answer(comparison, response);
	else if (!answer_refused_memory(context, r, comparison->sides.refused, response))
		http_response_error(response, 500, "cannot compare the profiles: %s", strerror(-r));
}

static void answer_regressions(struct api_context *context, const struct http_request *request,
			       struct http_response *response, struct comparison *comparison)
{
	scoped(store_view_closep) struct store_view *view = NULL;
	struct compared_sides *sides = &comparison->sides;

	sides->refused = memory_budget_refused(context->memory);
	if (read_options(request, response, comparison) &&
	    answer_open_view(context, request, response, &view) &&
	    compared_sides_read(context, view, request, response, comparison->arena, sides) &&
	    !is_refused(&sides->after.parameters.profile, response) &&
	    query_side(context, view, comparison, &sides->base, response) &&
	    query_side(context, view, comparison, &sides->after, response))
		compare(context, comparison, response);
}

void api_regressions(struct api_context *context, const struct http_request *request,
		     struct http_response *response)
{
	struct comparison *comparison = calloc(1, sizeof(*comparison));

	if (!comparison || arena_new_in(ARENA_BYTES, context->memory, &comparison->arena) < 0 ||
	    function_shares_new(context->memory, &comparison->shares) < 0)
		http_response_error(response, 500, "cannot write the answer: %s", strerror(ENOMEM));
	else
		answer_regressions(context, request, response, comparison);
	if (comparison) {
		(void)function_shares_free(comparison->shares);
		(void)arena_free(comparison->arena);
	}
	free(comparison);
}
