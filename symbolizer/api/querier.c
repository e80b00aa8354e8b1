/* SPDX-License-Identifier: Apache-2.0 */

/*
 * POST /querier.v1.QuerierService/NAME: Pyroscope's query API, for Grafana's datasource. This file
 * has the table of calls and those that return stacks.
 */

#include "symbolizer/api/querier.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/limits.h"
#include "common/log.h"
#include "symbolizer/api/connect.h"
#include "symbolizer/export/export.h"
#include "symbolizer/flame/flamebearer.h"

#define CALL_ARENA_BYTES (768 * MIB)

#define DEFAULT_RANGE_MS (3600 * INT64_C(1000))

/* 9999-12-31T23:59:59Z */
#define LAST_MS INT64_C(253402300799000)

bool querier_begin(struct querier_call *call)
{
	call->profile = (struct profile_request){
		.any_services = true,
		.max_kernel_stack_depth = -1,
		.fold_threads = true,
		.function_starts = true,
		.now_ns = clock_wall_ns(call->context->clock),
	};
	if (arena_new_in(CALL_ARENA_BYTES, call->context->memory, &call->arena) < 0) {
		http_response_error(call->response, 500, "out of memory");
		return false;
	}
	return answer_open_view(call->context, call->request, call->response, &call->view);
}

void querier_end(struct querier_call *call)
{
	label_selector_release(&call->selector);
	call->view = store_view_close(call->view);
	call->arena = arena_free(call->arena);
}

bool querier_set_range(struct querier_call *call, int64_t start_ms, int64_t end_ms)
{
	if (start_ms == 0 && end_ms == 0) {
		end_ms = (int64_t)(call->profile.now_ns / NSEC_PER_MSEC);
		start_ms = MAX(end_ms - DEFAULT_RANGE_MS, INT64_C(0));
	}
	if (start_ms < 0 || end_ms > LAST_MS || start_ms >= end_ms) {
		http_response_error(call->response, 400,
				    "start %" PRId64 " and end %" PRId64
				    " are no time range: give unix milliseconds, start before end",
				    start_ms, end_ms);
		return false;
	}
	call->profile.from_slot = (uint64_t)start_ms * NSEC_PER_MSEC / SLOT_NS;
	call->profile.to_slot = ((uint64_t)end_ms * NSEC_PER_MSEC + SLOT_NS - 1) / SLOT_NS;
	return true;
}

bool querier_set_selectors(struct querier_call *call, char *const *texts, size_t count)
{
	struct filter_error error = {};
	int r = label_selector_parse(texts, count, &call->selector, &error);

	if (r == -EINVAL) {
		http_response_error(call->response, 400, "label selector: %s at character %zu",
				    error.message, error.offset + 1);
		return false;
	}
	if (r < 0) {
		http_response_error(call->response, 500, "out of memory");
		return false;
	}
	call->profile.labels = call->selector.filter;
	call->profile.service = call->selector.service;
	return true;
}

bool querier_set_type(struct querier_call *call, const char *id, bool required)
{
	char name[PROFILE_TYPE_ID_SIZE];
	int r;

	if (!id[0] && call->selector.profile_type)
		id = call->selector.profile_type;
	if (!id[0] && !required)
		return true;
	if (!profile_type_event_name(id, name, sizeof(name))) {
		http_response_error(call->response, 400,
				    "profile type '%.100s' has not the form "
				    "process_cpu:cpu:nanoseconds:cpu:nanoseconds",
				    id);
		return false;
	}
	r = answer_find_event(call->view, name, &call->event, &call->profile, call->message);
	if (r < 0)
		http_response_error(call->response, r == -EINVAL ? 400 : 500,
				    "profile type '%.100s': %s", id, call->message);
	return r >= 0;
}

bool querier_select(struct querier_call *call, const struct querier_selection *selection)
{
	char *selector = (char *)selection->selector;

	return querier_set_range(call, selection->start_ms, selection->end_ms) &&
	       querier_set_selectors(call, &selector, 1) &&
	       querier_set_type(call, selection->type, true);
}

void querier_fail(struct querier_call *call, int error)
{
	if (answer_request_error(call->response, error, call->message))
		return;
	api_count(call->context, API_METRIC_STORE_ERRORS, 1);
	(void)log_error_errno(error, "cannot answer '%s', answering with an error: %m",
			      call->request->path);
	http_response_error(call->response, 500, "cannot read the samples: %s", strerror(-error));
}

bool querier_flamebearer(struct querier_call *call, int64_t max_nodes,
			 struct flamebearer *ret_flamebearer)
{
	scoped(tree_freep) struct tree *tree = NULL;
	struct profile_stats stats;
	int r;

	if (max_nodes < 0) {
		http_response_error(call->response, 400, "max_nodes: %" PRId64 " is negative",
				    max_nodes);
		return false;
	}
	call->profile.max_nodes =
		max_nodes ? (uint32_t)MIN(max_nodes, (int64_t)UINT32_MAX) : QUERIER_DEFAULT_NODES;
	r = answer_query(call->context, call->view, &call->profile, &tree, &stats, call->message);
	answer_headers(call->response, profile_event(&call->profile), &stats);
	if (r >= 0)
		r = flamebearer_make(tree, call->arena, ret_flamebearer);
	/* Names belong to the tree. */
	for (size_t i = 0; r >= 0 && i < ret_flamebearer->n_names; i++) {
		const char *name = ret_flamebearer->names[i];

		ret_flamebearer->names[i] = arena_copy_text(call->arena, name, strlen(name));
		if (!ret_flamebearer->names[i])
			r = -ENOMEM;
	}
	if (r < 0)
		querier_fail(call, r);
	return r >= 0;
}

static void write_flamebearer(struct querier_call *call, const struct flamebearer *flamebearer)
{
	Pyroscope__SelectMergeStacktracesResponse answer =
		PYROSCOPE__SELECT_MERGE_STACKTRACES_RESPONSE__INIT;
	Pyroscope__FlameGraph graph = PYROSCOPE__FLAME_GRAPH__INIT;
	Pyroscope__Level *levels =
		arena_alloc_array(call->arena, flamebearer->n_levels, sizeof(*levels));
	Pyroscope__Level **list =
		arena_alloc_array(call->arena, flamebearer->n_levels, sizeof(*list));

	if (!levels || !list) {
		http_response_error(call->response, 500, "out of memory");
		return;
	}
	for (size_t i = 0; i < flamebearer->n_levels; i++) {
		pyroscope__level__init(&levels[i]);
		levels[i].values = flamebearer->levels[i].numbers;
		levels[i].n_values = flamebearer->levels[i].n_numbers;
		list[i] = &levels[i];
	}
	graph.names = flamebearer->names;
	graph.n_names = flamebearer->n_names;
	graph.levels = list;
	graph.n_levels = flamebearer->n_levels;
	graph.total = flamebearer->total;
	graph.max_self = flamebearer->max_self;
	answer.flamegraph = &graph;
	connect_write(call->request, &answer.base, call->response);
}

static void select_merge_stacktraces(struct querier_call *call, const ProtobufCMessage *message)
{
	const Pyroscope__SelectMergeStacktracesRequest *asked = (const void *)message;
	struct flamebearer flamebearer;

	if (asked->format > PYROSCOPE__PROFILE_FORMAT__PROFILE_FORMAT_FLAMEGRAPH) {
		http_response_error(call->response, 501,
				    "only the format PROFILE_FORMAT_FLAMEGRAPH is supported; "
				    "SelectMergeProfile returns pprof");
		return;
	}
	if (querier_select(call, &(struct querier_selection){ asked->profile_typeid,
							      asked->label_selector, asked->start,
							      asked->end }) &&
	    querier_flamebearer(call, asked->max_nodes, &flamebearer))
		write_flamebearer(call, &flamebearer);
}

static int write_pprof(struct querier_call *call)
{
	const struct export_stack_operations *pprof = export_pprof.stacks;
	const struct export_selection selection = {
		.service = call->profile.service,
		.event = profile_event(&call->profile),
		.since_wall_ns = call->profile.from_slot * SLOT_NS,
		.until_wall_ns = call->profile.to_slot * SLOT_NS,
	};
	struct stack_visitor visitor = { .visit = pprof->add };
	struct profile_stats stats = {};
	struct export_result result = { .message = call->message, .stats = &stats };
	int r;

	r = pprof->begin(&selection, &call->response->body, &visitor.arg);
	if (r < 0)
		return r;
	r = answer_stacks(call->context, call->view, &call->profile, &visitor, &stats,
			  call->message);
	result.period_ns = stats.period_ns;
	if (r >= 0)
		r = pprof->end(visitor.arg, &result);
	pprof->free(visitor.arg);
	answer_headers(call->response, profile_event(&call->profile), &stats);
	return r;
}

/* The exported file is a profile.proto that gzip compressed: the body of an answer with the
 * Content-Encoding gzip. */
static void select_merge_profile(struct querier_call *call, const ProtobufCMessage *message)
{
	const Pyroscope__SelectMergeProfileRequest *asked = (const void *)message;
	int r;

	if (!connect_is_binary(call->request) ||
	    !http_request_accepts(call->request, "Accept-Encoding", "gzip")) {
		http_response_error(call->response, 501,
				    "SelectMergeProfile answers only application/proto for clients "
				    "with Accept-Encoding: gzip");
		return;
	}
	if (!querier_select(call, &(struct querier_selection){ asked->profile_typeid,
							       asked->label_selector, asked->start,
							       asked->end }))
		return;
	r = write_pprof(call);
	if (r < 0) {
		bytes_clear(&call->response->body);
		querier_fail(call, r);
		return;
	}
	call->response->content_type = "application/proto";
	http_response_header(call->response, "Content-Encoding", "gzip");
}

static const struct {
	const char *name;
	const ProtobufCMessageDescriptor *descriptor;
	querier_function function;
} calls[] = {
	{ "ProfileTypes", &pyroscope__profile_types_request__descriptor, querier_profile_types },
	{ "LabelNames", &pyroscope__label_names_request__descriptor, querier_label_names },
	{ "LabelValues", &pyroscope__label_values_request__descriptor, querier_values_of_label },
	{ "Series", &pyroscope__series_request__descriptor, querier_series },
	{ "SelectSeries", &pyroscope__select_series_request__descriptor, querier_select_series },
	{ "SelectMergeStacktraces", &pyroscope__select_merge_stacktraces_request__descriptor,
	  select_merge_stacktraces },
	{ "SelectMergeProfile", &pyroscope__select_merge_profile_request__descriptor,
	  select_merge_profile },
};

void api_querier(struct api_context *context, const struct http_request *request,
		 struct http_response *response)
{
	struct querier_call call = { .context = context, .request = request, .response = response };
	const ProtobufCMessage *message;
	size_t i = 0;

	while (i < ARRAY_SIZE(calls) && strcmp(calls[i].name, request->argument) != 0)
		i++;
	if (i == ARRAY_SIZE(calls)) {
		http_response_error(response, 501, "the call '%.60s' is not supported",
				    request->argument);
		return;
	}
	if (querier_begin(&call)) {
		message = connect_read(request, calls[i].descriptor, call.arena, response);
		if (message)
			calls[i].function(&call, message);
	}
	querier_end(&call);
}
