/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The calls of Pyroscope's query API that return names, values of labels, and values over time.
 */

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "common/limits.h"
#include "symbolizer/api/connect.h"
#include "symbolizer/api/querier.h"
#include "symbolizer/query/labels.h"
#include "symbolizer/query/timeline.h"

/* Largest number of points of a series. Prometheus has the same limit. */
#define MAX_STEPS 11000

#define MAX_SERIES_GROUPS 1000
#define MAX_GROUP_BY      16

/* Lists the services in the range of the call, with one row for each service and event type. */
static bool list_services(struct querier_call *call, struct service_summary **ret_services,
			  size_t *ret_count)
{
	int r = profile_list_services(call->view, call->profile.from_slot, call->profile.to_slot,
				      call->arena, ret_services, ret_count);

	if (r < 0)
		querier_fail(call, r);
	return r >= 0;
}

static bool fill_type(struct querier_call *call, const struct event_type_info *event,
		      Pyroscope__ProfileType **ret_type)
{
	Pyroscope__ProfileType *type = arena_alloc(call->arena, sizeof(*type));
	struct profile_type *made = arena_alloc(call->arena, sizeof(*made));

	if (!type || !made) {
		http_response_error(call->response, 500, "out of memory");
		return false;
	}
	profile_type_make(event, made);
	pyroscope__profile_type__init(type);
	type->id = made->id;
	type->name = made->parts[0];
	type->sample_type = made->parts[1];
	type->sample_unit = made->parts[2];
	type->period_type = made->parts[3];
	type->period_unit = made->parts[4];
	*ret_type = type;
	return true;
}

void querier_profile_types(struct querier_call *call, const ProtobufCMessage *message)
{
	const Pyroscope__ProfileTypesRequest *asked = (const void *)message;
	Pyroscope__ProfileTypesResponse answer = PYROSCOPE__PROFILE_TYPES_RESPONSE__INIT;
	struct service_summary *services;
	size_t count;

	if (!querier_set_range(call, asked->start, asked->end) ||
	    !list_services(call, &services, &count))
		return;
	answer.profile_types =
		arena_alloc_array(call->arena, count + 1, sizeof(*answer.profile_types));
	for (size_t i = 0; answer.profile_types && i < count; i++) {
		if (service_is_first_of_type(services, i) &&
		    !fill_type(call, services[i].event,
			       &answer.profile_types[answer.n_profile_types++]))
			return;
	}
	connect_write(call->request, &answer.base, call->response);
}

static void write_names(struct querier_call *call, char **names, size_t count)
{
	Pyroscope__Names answer = PYROSCOPE__NAMES__INIT;

	answer.names = names;
	answer.n_names = count;
	connect_write(call->request, &answer.base, call->response);
}

void querier_label_names(struct querier_call *call, const ProtobufCMessage *message)
{
	const Pyroscope__LabelNamesRequest *asked = (const void *)message;
	const char **names;
	size_t count;
	int r;

	if (!querier_set_range(call, asked->start, asked->end) ||
	    !querier_set_selectors(call, asked->matchers, asked->n_matchers) ||
	    !querier_set_type(call, "", false))
		return;
	r = labels_list_names(call->view, &call->profile, call->arena, &names, &count,
			      call->message);
	if (r < 0)
		querier_fail(call, r);
	else
		write_names(call, (char **)names, count);
}

bool querier_label_values(struct querier_call *call, const char *name, char ***ret_values,
			  size_t *ret_count)
{
	struct label_combination *items;
	char **values;
	size_t count, kept = 0;
	int r;

	if (!name[0]) {
		http_response_error(call->response, 400, "the name of the label is missing");
		return false;
	}
	r = labels_list_values(call->view, &call->profile, &name, 1, call->arena, &items, &count,
			       call->message);
	if (r < 0) {
		querier_fail(call, r);
		return false;
	}
	values = arena_alloc_array(call->arena, count + 1, sizeof(*values));
	for (size_t i = 0; values && i < count; i++)
		if (items[i].values[0])
			values[kept++] = (char *)items[i].values[0];
	*ret_values = values;
	*ret_count = kept;
	return true;
}

void querier_values_of_label(struct querier_call *call, const ProtobufCMessage *message)
{
	const Pyroscope__LabelValuesRequest *asked = (const void *)message;
	char **values;
	size_t count;

	if (querier_set_range(call, asked->start, asked->end) &&
	    querier_set_selectors(call, asked->matchers, asked->n_matchers) &&
	    querier_set_type(call, "", false) &&
	    querier_label_values(call, asked->name, &values, &count))
		write_names(call, values, count);
}

/* Makes label pairs from @names and @values. Labels without a value (NULL) are left out. */
static int make_pairs(struct arena *arena, const char *const *names, const char *const *values,
		      size_t count, Pyroscope__LabelPair ***ret_pairs, size_t *ret_count)
{
	Pyroscope__LabelPair *pairs = arena_alloc_array(arena, count + 1, sizeof(*pairs));
	Pyroscope__LabelPair **list = arena_alloc_array(arena, count + 1, sizeof(*list));
	size_t kept = 0;

	if (!pairs || !list)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		if (!values[i])
			continue;
		pyroscope__label_pair__init(&pairs[kept]);
		pairs[kept].name = (char *)names[i];
		pairs[kept].value = (char *)values[i];
		list[kept] = &pairs[kept];
		kept++;
	}
	*ret_pairs = list;
	*ret_count = kept;
	return 0;
}

static bool check_label_count(struct querier_call *call, size_t count)
{
	if (count <= MAX_GROUP_BY)
		return true;
	http_response_error(call->response, 400, "more than %d labels", MAX_GROUP_BY);
	return false;
}

/* The labels of series if the request names none. */
static const char *const default_labels[] = { LABEL_SERVICE_NAME, LABEL_PROFILE_TYPE };

static int make_labels_set(struct querier_call *call, const char *const *names, size_t n_names,
			   const struct label_combination *items, size_t count)
{
	Pyroscope__SeriesResponse answer = PYROSCOPE__SERIES_RESPONSE__INIT;
	Pyroscope__Labels *sets = arena_alloc_array(call->arena, count + 1, sizeof(*sets));
	int r = 0;

	answer.labels_set = arena_alloc_array(call->arena, count + 1, sizeof(*answer.labels_set));
	answer.n_labels_set = count;
	if (!sets || !answer.labels_set)
		return -ENOMEM;
	for (size_t i = 0; i < count && r == 0; i++) {
		pyroscope__labels__init(&sets[i]);
		answer.labels_set[i] = &sets[i];
		r = make_pairs(call->arena, names, items[i].values, n_names, &sets[i].labels,
			       &sets[i].n_labels);
	}
	if (r == 0)
		connect_write(call->request, &answer.base, call->response);
	return r;
}

void querier_series(struct querier_call *call, const ProtobufCMessage *message)
{
	const Pyroscope__SeriesRequest *asked = (const void *)message;
	const bool named = asked->n_label_names > 0;
	const char *const *names = named ? (const char *const *)asked->label_names : default_labels;
	size_t n_names = named ? asked->n_label_names : ARRAY_SIZE(default_labels), count;
	struct label_combination *items;
	int r;

	if (!check_label_count(call, n_names) ||
	    !querier_set_range(call, asked->start, asked->end) ||
	    !querier_set_selectors(call, asked->matchers, asked->n_matchers) ||
	    !querier_set_type(call, "", false))
		return;
	r = labels_list_values(call->view, &call->profile, names, n_names, call->arena, &items,
			       &count, call->message);
	if (r >= 0)
		r = make_labels_set(call, names, n_names, items, count);
	if (r < 0)
		querier_fail(call, r);
}

/* Writes the points of a row. The time of a point is the end of its step. */
static int make_points(struct arena *arena, const struct timeline *timeline,
		       const struct timeline_row *row, Pyroscope__Series *series)
{
	Pyroscope__Point *points = arena_alloc_array(arena, timeline->n_steps, sizeof(*points));

	series->points = arena_alloc_array(arena, timeline->n_steps, sizeof(*series->points));
	if (!points || !series->points)
		return -ENOMEM;
	for (size_t i = 0; i < timeline->n_steps; i++) {
		Pyroscope__Point *point = &points[series->n_points];
		uint64_t end_slot = timeline->from_slot + (i + 1) * timeline->step_slots;

		if (!row->has_value[i])
			continue;
		pyroscope__point__init(point);
		point->value = (double)row->values[i];
		point->timestamp = (int64_t)(end_slot * (SLOT_NS / NSEC_PER_MSEC));
		series->points[series->n_points++] = point;
	}
	return 0;
}

static int write_series(struct querier_call *call, const char *const *labels, size_t n_labels,
			const struct timeline *timeline)
{
	Pyroscope__SelectSeriesResponse answer = PYROSCOPE__SELECT_SERIES_RESPONSE__INIT;
	const struct timeline_row *rows = n_labels > 0 ? timeline->groups : &timeline->all;
	size_t count = n_labels > 0 ? timeline->n_groups : timeline->all.total > 0;
	Pyroscope__Series *series = arena_alloc_array(call->arena, count + 1, sizeof(*series));
	int r = 0;

	answer.series = arena_alloc_array(call->arena, count + 1, sizeof(*answer.series));
	answer.n_series = count;
	if (!series || !answer.series)
		return -ENOMEM;
	for (size_t i = 0; i < count && r == 0; i++) {
		pyroscope__series__init(&series[i]);
		answer.series[i] = &series[i];
		if (n_labels > 0)
			r = make_pairs(call->arena, labels, rows[i].names, n_labels,
				       &series[i].labels, &series[i].n_labels);
		if (r == 0)
			r = make_points(call->arena, timeline, &rows[i], &series[i]);
	}
	if (r == 0)
		connect_write(call->request, &answer.base, call->response);
	return r;
}

/* Converts a step in seconds to slots. */
static bool read_step(struct querier_call *call, double step_s, uint64_t *ret_slots)
{
	const struct profile_request *profile = &call->profile;
	double slots = round(step_s * (double)(NSEC_PER_SEC / SLOT_NS));
	uint64_t range = profile->to_slot - profile->from_slot;

	if (!(slots >= 1 && slots <= 1e12)) {
		http_response_error(call->response, 400,
				    "step: %g is no number of seconds of at least 0.01", step_s);
		return false;
	}
	*ret_slots = (uint64_t)slots;
	if (range / *ret_slots < MAX_STEPS)
		return true;
	http_response_error(call->response, 400,
			    "the range has more than %d steps: ask for a longer step", MAX_STEPS);
	return false;
}

void querier_select_series(struct querier_call *call, const ProtobufCMessage *message)
{
	const Pyroscope__SelectSeriesRequest *asked = (const void *)message;
	const char *const *labels = (const char *const *)asked->group_by;
	const char *tags[MAX_GROUP_BY];
	struct timeline_request request = { .profile = &call->profile,
					    .tags = tags,
					    .n_tags = asked->n_group_by,
					    .max_groups = MAX_SERIES_GROUPS };
	struct timeline timeline;
	uint64_t refused = memory_budget_refused(call->context->memory);
	int r;

	if (!check_label_count(call, asked->n_group_by) ||
	    !querier_select(call, &(struct querier_selection){ asked->profile_typeid,
							       asked->label_selector, asked->start,
							       asked->end }) ||
	    !read_step(call, asked->step, &request.step_slots))
		return;
	for (size_t i = 0; i < asked->n_group_by; i++)
		tags[i] = strcmp(labels[i], LABEL_PROFILE_TYPE) == 0 ? "profile_event_type"
								     : label_tag(labels[i]);
	if (asked->limit > 0)
		request.max_groups = (size_t)MIN(asked->limit, (int64_t)MAX_SERIES_GROUPS);
	r = timeline_query(call->view, &request, call->arena, &timeline, call->message);
	r = answer_memory_error(call->context, r, refused, call->message);
	if (r >= 0)
		r = write_series(call, labels, asked->n_group_by, &timeline);
	if (r < 0)
		querier_fail(call, r);
}
