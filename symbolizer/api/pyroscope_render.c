/* SPDX-License-Identifier: Apache-2.0 */

/*
 * GET /pyroscope/render and GET /pyroscope/label-values: the older query API of Pyroscope, which
 * scripts use.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/limits.h"
#include "symbolizer/api/profile_parameters.h"
#include "symbolizer/api/querier.h"
#include "symbolizer/flame/flamebearer.h"

#define DEFAULT_RANGE_MS (3600 * INT64_C(1000))

/* Digits of unix times in seconds, milliseconds, microseconds and nanoseconds. */
static const struct {
	size_t digits;
	int64_t per_ms;
} epochs[] = { { 13, 1 }, { 16, 1000 }, { 19, 1000000 } };

/* Parses "now", "now-1h", "20240131", or unix time in seconds or a fraction of it. */
static int parse_time(const char *text, int64_t now_ms, int64_t *ret_ms)
{
	size_t digits = strspn(text, "0123456789");
	char iso[sizeof("2024-01-31T00:00:00Z")];
	uint64_t ns;

	if (strcmp(text, "now") == 0) {
		*ret_ms = now_ms;
		return 0;
	}
	if (strncmp(text, "now-", 4) == 0) {
		if (duration_parse(text + 4, &ns) < 0)
			return -EINVAL;
		*ret_ms = now_ms - (int64_t)(ns / NSEC_PER_MSEC);
		return 0;
	}
	for (size_t i = 0; i < ARRAY_SIZE(epochs) && text[digits] == '\0'; i++) {
		if (digits == epochs[i].digits) {
			*ret_ms = strtoll(text, NULL, 10) / epochs[i].per_ms;
			return 0;
		}
	}
	if (digits == 8 && text[digits] == '\0') {
		(void)snprintf(iso, sizeof(iso), "%.4s-%.2s-%.2sT00:00:00Z", text, text + 4,
			       text + 6);
		text = iso;
	}
	if (wall_time_parse(text, &ns) < 0)
		return -EINVAL;
	*ret_ms = (int64_t)(ns / NSEC_PER_MSEC);
	return 0;
}

static bool read_time(struct querier_call *call, const char *name, int64_t fallback_ms,
		      int64_t *ret_ms)
{
	const char *text = http_request_parameter(call->request, name);

	*ret_ms = fallback_ms;
	if (!text || parse_time(text, (int64_t)(call->profile.now_ns / NSEC_PER_MSEC), ret_ms) == 0)
		return true;
	http_response_error(call->response, 400,
			    "%s: '%.40s' is no time; write it as now-1h, 1735689600 or 20250101",
			    name, text);
	return false;
}

/* The range from= and until=, by default the last hour. */
static bool read_range(struct querier_call *call, struct querier_selection *selection)
{
	int64_t now_ms = (int64_t)(call->profile.now_ns / NSEC_PER_MSEC);

	return read_time(call, "until", now_ms, &selection->end_ms) &&
	       read_time(call, "from", selection->end_ms - DEFAULT_RANGE_MS, &selection->start_ms);
}

/* Divides query= into the profile type and the label selector. */
static bool read_query(struct querier_call *call, struct querier_selection *selection)
{
	const char *query = http_request_parameter(call->request, "query");
	size_t length;

	if (!query) {
		http_response_error(call->response, 400,
				    "query is missing: a profile type and a label selector, such "
				    "as process_cpu:cpu:nanoseconds:cpu:nanoseconds"
				    "{service_name=\"nginx\"}");
		return false;
	}
	length = strcspn(query, "{");
	selection->type = arena_copy_text(call->arena, query, length);
	selection->selector = query + length;
	if (!selection->type)
		http_response_error(call->response, 500, "out of memory");
	return selection->type != NULL;
}

static bool read_format(struct querier_call *call, int64_t *ret_max_nodes)
{
	const char *format = http_request_parameter(call->request, "format");
	const char *name =
		http_request_parameter(call->request, "max-nodes") ? "max-nodes" : "maxNodes";
	char message[PARAMETERS_MESSAGE_SIZE];

	if (format && strcmp(format, "json") != 0) {
		http_response_error(call->response, 400,
				    "format: '%.40s' is not supported, only json is", format);
		return false;
	}
	if (parameter_integer(call->request, name, 0, UINT32_MAX, 0, ret_max_nodes, message) == 0)
		return true;
	http_response_error(call->response, 400, "%s", message);
	return false;
}

static void write_levels(struct json_writer *json, const struct flamebearer *flamebearer)
{
	json_key(json, "levels");
	json_array_begin(json);
	for (size_t i = 0; i < flamebearer->n_levels; i++) {
		json_array_begin(json);
		for (size_t k = 0; k < flamebearer->levels[i].n_numbers; k++)
			json_int(json, flamebearer->levels[i].numbers[k]);
		json_array_end(json);
	}
	json_array_end(json);
}

/* Readers divide values of the unit "samples" by the rate to get seconds. */
static void write_metadata(struct json_writer *json, const struct event_type_info *event)
{
	const bool is_time = strcmp(event->unit, "ns") == 0;

	json_key(json, "metadata");
	json_object_begin(json);
	json_key_text(json, "format", "single");
	json_key_text(json, "spyName", "hearth");
	json_key_uint(json, "sampleRate", is_time ? NSEC_PER_SEC : 1);
	json_key_text(json, "units", is_time ? "samples" : event->unit);
	json_key_text(json, "name", event->name);
	json_object_end(json);
}

static void write_render(struct querier_call *call, const struct flamebearer *flamebearer)
{
	struct json_writer json;

	json_writer_init(&json, &call->response->body);
	json_object_begin(&json);
	json_key_uint(&json, "version", 1);
	json_key(&json, "flamebearer");
	json_object_begin(&json);
	json_key(&json, "names");
	json_array_begin(&json);
	for (size_t i = 0; i < flamebearer->n_names; i++)
		json_text(&json, flamebearer->names[i]);
	json_array_end(&json);
	write_levels(&json, flamebearer);
	json_key_int(&json, "numTicks", flamebearer->total);
	json_key_int(&json, "maxSelf", flamebearer->max_self);
	json_object_end(&json);
	write_metadata(&json, profile_event(&call->profile));
	json_object_end(&json);
}

void api_pyroscope_render(struct api_context *context, const struct http_request *request,
			  struct http_response *response)
{
	struct querier_call call = { .context = context, .request = request, .response = response };
	struct querier_selection selection = {};
	struct flamebearer flamebearer;
	int64_t max_nodes;

	if (querier_begin(&call) && read_query(&call, &selection) &&
	    read_range(&call, &selection) && read_format(&call, &max_nodes) &&
	    querier_select(&call, &selection) &&
	    querier_flamebearer(&call, max_nodes, &flamebearer))
		write_render(&call, &flamebearer);
	querier_end(&call);
}

void api_pyroscope_label_values(struct api_context *context, const struct http_request *request,
				struct http_response *response)
{
	const char *label = http_request_parameter(request, "label");
	struct querier_call call = { .context = context, .request = request, .response = response };
	struct querier_selection selection = {};
	struct json_writer json;
	char **values;
	size_t count;

	if (querier_begin(&call) && read_range(&call, &selection) &&
	    querier_set_range(&call, selection.start_ms, selection.end_ms) &&
	    querier_label_values(&call, label ? label : "", &values, &count)) {
		json_writer_init(&json, &response->body);
		json_array_begin(&json);
		for (size_t i = 0; i < count; i++)
			json_text(&json, values[i]);
		json_array_end(&json);
	}
	querier_end(&call);
}
