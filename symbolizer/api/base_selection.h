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

/* One of the two selections. */
struct compared_side {
	struct profile_parameters parameters;
	struct profile_stats stats;
	char message[PROFILE_MESSAGE_SIZE];
};

struct compared_sides {
	struct compared_side base, after;
	uint64_t refused; /* memory_budget_refused() before the comparison */
};

/*
 * Parses the parameters of both sides. Texts of the base belong to the request and to @arena.
 * Returns false after filling @response with an error.
 */
bool compared_sides_read(struct api_context *context, struct store_view *view,
			 const struct http_request *request, struct http_response *response,
			 struct arena *arena, struct compared_sides *sides);

/*
 * Returns whether the query of @side, which returned @r, found samples. If not, @response is filled
 * with an error, which names the base.
 */
bool compared_side_found(const struct compared_sides *sides, const struct compared_side *side,
			 int r, struct http_response *response);

/* Writes the member @key: the selection of a side, its samples, and @total, its exact value. */
void compared_side_write(struct json_writer *json, const char *key,
			 const struct compared_side *side, uint64_t total);
