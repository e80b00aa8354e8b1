/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/query/selection.h"

#include <stdio.h>
#include <string.h>

#include "common/bytes.h"
#include "symbolizer/query/filter/tags.h"

bool is_service(const struct store_process *process)
{
	return !process->without_stacks && strcmp(process->name, TOTAL_SERVICE) != 0;
}

uint64_t series_factor(const struct store_series *series)
{
	return series->period_ns ? series->period_ns : 1;
}

uint64_t selection_period(const struct selection *selection)
{
	for (size_t i = 1; i < selection->n_series; i++)
		if (selection->series[i].period_ns != selection->series[0].period_ns)
			return 0;
	return selection->n_series > 0 ? selection->series[0].period_ns : 0;
}

uint64_t selection_longest_period(const struct selection *selection)
{
	uint64_t longest_ns = 0;

	for (size_t i = 0; i < selection->n_series; i++) {
		if (selection->series[i].period_ns == 0)
			return 0;
		longest_ns = MAX(longest_ns, selection->series[i].period_ns);
	}
	return longest_ns;
}

bool has_states(const struct profile_request *request)
{
	return profile_event(request)->kind == EVENT_VALUE_STATE;
}

bool has_times(const struct profile_request *request)
{
	return strcmp(profile_event(request)->unit, "ns") == 0;
}

static bool has_text(const char *text)
{
	return text && text[0];
}

static bool has_type(const struct profile_request *request, const struct store_series *series)
{
	return request->type != EVENT_NONE || request->n_types == 0 ||
	       profile_has_type(request, series->type);
}

static int find_series(struct store_view *view, const struct profile_request *request,
		       struct arena *arena, struct selection *selection)
{
	const bool named = has_text(request->service);
	const struct store_series_query query = {
		.type = request->type,
		.service = selection->total || !named ? NULL : request->service,
		.from_slot = request->from_slot,
		.to_slot = request->to_slot,
	};
	size_t kept = 0;
	int r;

	r = store_find_series(view, &query, arena, &selection->series, &selection->n_series);
	if (r < 0)
		return r;
	for (size_t i = 0; i < selection->n_series; i++) {
		const struct store_series *series = &selection->series[i];

		if (has_type(request, series) && (selection->total || is_service(series->process)))
			selection->series[kept++] = *series;
	}
	selection->n_series = kept;
	return 0;
}

/* Returns the number of the UTF-8 character at @offset, counted from 1. */
static size_t character_number(const char *text, size_t offset)
{
	size_t number = 1;

	for (size_t i = 0; i < offset && text[i]; i++)
		number += ((unsigned char)text[i] & 0xc0) != 0x80;
	return number;
}

void selection_describe_error(const char *parameter, const char *text,
			      const struct filter_error *error, const struct tag_names *names,
			      char ret_message[PROFILE_MESSAGE_SIZE])
{
	char known[PROFILE_MESSAGE_SIZE - FILTER_MESSAGE_SIZE - 64];
	size_t number = character_number(text, error->offset);

	if (!error->unknown_tag) {
		(void)snprintf(ret_message, PROFILE_MESSAGE_SIZE, "%s: %s at character %zu",
			       parameter, error->message, number);
		return;
	}
	tag_names_print(names, known, sizeof(known));
	(void)snprintf(ret_message, PROFILE_MESSAGE_SIZE, "%s: %s at character %zu (known: %s)",
		       parameter, error->message, number, known);
}

static int apply_filter(const struct filter *filter, struct selection *selection,
			char ret_message[PROFILE_MESSAGE_SIZE])
{
	size_t kept = 0;
	const size_t count = selection->n_series;

	for (size_t i = 0; i < count; i++) {
		struct series_tags tags = { .series = &selection->series[i] };
		int r;

		r = filter_matches(filter, series_tag_values, &tags);
		if (r == -E2BIG) {
			(void)snprintf(ret_message, PROFILE_MESSAGE_SIZE,
				       "tag_filter: a regular expression takes too many steps on a "
				       "value: simplify it");
			return -EINVAL;
		}
		if (r < 0)
			return r;
		if (r > 0)
			selection->series[kept++] = selection->series[i];
	}
	selection->n_filtered += count - kept;
	selection->n_series = kept;
	return 0;
}

static int filter_series(const struct profile_request *request, struct tag_names *names,
			 struct selection *selection, char ret_message[PROFILE_MESSAGE_SIZE])
{
	scoped(filter_freep) struct filter *filter = NULL;
	struct filter_error error;
	int r;

	if (request->labels) {
		r = apply_filter(request->labels, selection, ret_message);
		if (r < 0)
			return r;
	}
	if (!has_text(request->tag_filter))
		return 0;
	r = filter_parse(request->tag_filter, tag_is_known, names, &filter, &error);
	if (names->error < 0)
		return names->error;
	if (r == -EINVAL)
		selection_describe_error("tag_filter", request->tag_filter, &error, names,
					 ret_message);
	if (r < 0)
		return r;
	return apply_filter(filter, selection, ret_message);
}

/* Bytes of a tag's name in a message; longer names are cut. */
#define SHOWN_NAME_BYTES 100

static int check_group_by(const struct profile_request *request, struct tag_names *names,
			  char ret_message[PROFILE_MESSAGE_SIZE])
{
	char known[PROFILE_MESSAGE_SIZE - 2 * SHOWN_NAME_BYTES - 80];
	const char *nearest;
	int length;

	if (!has_text(request->group_by))
		return 0;
	if (strlen(request->group_by) <= FILTER_MAX_NAME_BYTES &&
	    tag_is_known(names, request->group_by))
		return 0;
	if (names->error < 0)
		return names->error;
	tag_names_print(names, known, sizeof(known));
	length = snprintf(ret_message, PROFILE_MESSAGE_SIZE,
			  "group_by: unknown tag '%.100s' (known: %s)", request->group_by, known);
	nearest = tag_names_nearest(names, request->group_by);
	if (nearest)
		(void)snprintf(ret_message + length, PROFILE_MESSAGE_SIZE - (size_t)length,
			       "; did you mean '%.100s'?", nearest);
	return -EINVAL;
}

static int compare_names(const void *left, const void *right)
{
	return strcmp(*(const char *const *)left, *(const char *const *)right);
}

/* Lists the distinct service names of the series, sorted, in @arena. */
static int list_services(const struct selection *selection, struct arena *arena,
			 const char ***ret_names, size_t *ret_count)
{
	const char **names = arena_alloc_array(arena, selection->n_series, sizeof(*names));
	size_t kept = 0;

	if (!names)
		return -ENOMEM;
	for (size_t i = 0; i < selection->n_series; i++)
		names[i] = selection->series[i].process->name;
	qsort(names, selection->n_series, sizeof(*names), compare_names);
	for (size_t i = 0; i < selection->n_series; i++) {
		if (i == 0 || strcmp(names[i], names[i - 1]) != 0)
			names[kept++] = names[i];
	}
	*ret_names = names;
	*ret_count = kept;
	return 0;
}

static int join_services(struct selection *selection, struct arena *arena,
			 char ret_message[PROFILE_MESSAGE_SIZE])
{
	const char **names;
	const char *label = "";
	size_t count;
	int r;

	r = list_services(selection, arena, &names, &count);
	if (r < 0)
		return r;
	if (count > SELECTION_MAX_SERVICES) {
		(void)snprintf(ret_message, PROFILE_MESSAGE_SIZE,
			       "app_service count %zu is invalid", count);
		return -EINVAL;
	}
	for (size_t i = 0; i < count && label; i++)
		label = arena_format(arena, "%s%s%s", label, i > 0 ? ", " : "", names[i]);
	selection->label = label;
	return label ? 0 : -ENOMEM;
}

int selection_make(struct store_view *view, const struct profile_request *request,
		   struct arena *arena, struct selection *ret_selection,
		   char ret_message[PROFILE_MESSAGE_SIZE])
{
	struct selection selection = { .label = request->service };
	struct tag_names names = { .view = view, .arena = arena };
	int r;

	if (has_text(request->service))
		selection.total = strcmp(request->service, TOTAL_SERVICE) == 0;
	r = find_series(view, request, arena, &selection);
	if (r < 0)
		return r;
	names.series = selection.series;
	names.n_series = selection.n_series;
	r = check_group_by(request, &names, ret_message);
	if (r < 0)
		return r;
	r = filter_series(request, &names, &selection, ret_message);
	if (r < 0)
		return r;
	if (!has_text(request->service) && !request->any_services && selection.n_series > 0) {
		r = join_services(&selection, arena, ret_message);
		if (r < 0)
			return r;
	}
	*ret_selection = selection;
	return selection.n_series > 0;
}
