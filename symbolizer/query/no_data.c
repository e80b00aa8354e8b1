/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/query/no_data.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "common/limits.h"
#include "symbolizer/query/nearest.h"

#define SUGGESTED_SERVICES 5

#define TIME_TEXT_SIZE sizeof("2024-02-21T03:12:00Z")

static const char *slot_time(uint64_t slot, char ret_text[TIME_TEXT_SIZE])
{
	time_t seconds = (time_t)(slot / (NSEC_PER_SEC / SLOT_NS));
	struct tm utc;

	if (!gmtime_r(&seconds, &utc) ||
	    strftime(ret_text, TIME_TEXT_SIZE, "%Y-%m-%dT%H:%M:%SZ", &utc) == 0)
		(void)snprintf(ret_text, TIME_TEXT_SIZE, "?");
	return ret_text;
}

/* "between A and B" */
static const char *range_text(const struct profile_request *request, char ret_text[64])
{
	char from[TIME_TEXT_SIZE], to[TIME_TEXT_SIZE];

	(void)snprintf(ret_text, 64, "between %s and %s", slot_time(request->from_slot, from),
		       slot_time(request->to_slot, to));
	return ret_text;
}

struct suggestion {
	const char *name;
	unsigned int distance;
};

struct suggestions {
	struct suggestion items[SUGGESTED_SERVICES];
	size_t count;
	bool more;
};

/* Keeps the nearest names, nearest first, ties in order of the alphabet. */
static void suggest(struct suggestions *suggestions, const char *name, unsigned int distance)
{
	size_t place = 0;

	while (place < suggestions->count) {
		const struct suggestion *other = &suggestions->items[place];
		int order = strcmp(name, other->name);

		if (order == 0)
			return;
		if (distance < other->distance || (distance == other->distance && order < 0))
			break;
		place++;
	}
	if (suggestions->count == SUGGESTED_SERVICES)
		suggestions->more = true;
	if (place == SUGGESTED_SERVICES)
		return;
	suggestions->count = MIN(suggestions->count + 1, (size_t)SUGGESTED_SERVICES);
	memmove(&suggestions->items[place + 1], &suggestions->items[place],
		(suggestions->count - place - 1) * sizeof(suggestions->items[0]));
	suggestions->items[place] = (struct suggestion){ .name = name, .distance = distance };
}

static void unknown_service_message(const struct profile_request *request,
				    const struct store_series *series, size_t n_series,
				    char *message)
{
	struct suggestions suggestions = {};
	size_t used;

	for (size_t i = 0; i < n_series; i++) {
		const struct store_process *process = series[i].process;

		if (is_service(process) && (i == 0 || process != series[i - 1].process))
			suggest(&suggestions, process->name,
				name_distance(request->service, process->name));
	}
	used = (size_t)snprintf(message, PROFILE_MESSAGE_SIZE, "no service '%.100s'; ",
				request->service);
	if (suggestions.count == 0) {
		(void)snprintf(message + used, PROFILE_MESSAGE_SIZE - used,
			       "no service is known yet");
		return;
	}
	used += (size_t)snprintf(message + used, PROFILE_MESSAGE_SIZE - used, "known services: ");
	for (size_t i = 0; i < suggestions.count; i++)
		used += (size_t)snprintf(message + used, PROFILE_MESSAGE_SIZE - used, "%s%.60s",
					 i > 0 ? ", " : "", suggestions.items[i].name);
	if (suggestions.more)
		(void)snprintf(message + used, PROFILE_MESSAGE_SIZE - used, ", ...");
}

struct service_history {
	bool known;          /* has any sample of any type */
	bool without_stacks; /* is only counted */
	bool has_type;
	uint64_t last_slot; /* of the type */
	enum event_type other_type;
};

static struct service_history history_of(const struct profile_request *request,
					 const struct store_series *series, size_t n_series)
{
	struct service_history history = {};

	for (size_t i = 0; i < n_series; i++) {
		if (strcmp(series[i].process->name, request->service) != 0)
			continue;
		if (!is_service(series[i].process)) {
			history.without_stacks = true;
			continue;
		}
		history.known = true;
		if (series[i].type == request->type) {
			history.has_type = true;
			history.last_slot = MAX(history.last_slot, series[i].last_slot);
		} else {
			history.other_type = series[i].type;
		}
	}
	return history;
}

static void service_message(const struct profile_request *request,
			    const struct store_series *series, size_t n_series, char *message)
{
	const struct service_history history = history_of(request, series, n_series);
	const char *type = event_type_name(request->type);
	char range[64], last[TIME_TEXT_SIZE];

	if (!history.known && history.without_stacks)
		(void)snprintf(message, PROFILE_MESSAGE_SIZE,
			       "process '%.100s' is left out by the agent's configuration: it "
			       "counts in '%s' only",
			       request->service, TOTAL_SERVICE);
	else if (!history.known)
		unknown_service_message(request, series, n_series, message);
	else if (history.has_type)
		(void)snprintf(message, PROFILE_MESSAGE_SIZE,
			       "service '%.100s' has no %s samples %s; last sample at %s",
			       request->service, type, range_text(request, range),
			       slot_time(history.last_slot, last));
	else
		(void)snprintf(message, PROFILE_MESSAGE_SIZE,
			       "service '%.100s' has no %s samples, only others (%s)",
			       request->service, type, event_type_name(history.other_type));
}

static void fleet_message(const struct profile_request *request, const struct store_series *series,
			  size_t n_series, char *message)
{
	const char *type = event_type_name(request->type);
	uint64_t last_slot = 0;
	char range[64], last[TIME_TEXT_SIZE];

	for (size_t i = 0; i < n_series; i++) {
		if (series[i].type == request->type)
			last_slot = MAX(last_slot, series[i].last_slot);
	}
	if (last_slot == 0)
		(void)snprintf(message, PROFILE_MESSAGE_SIZE, "no %s samples were ever stored",
			       type);
	else
		(void)snprintf(message, PROFILE_MESSAGE_SIZE, "no %s samples %s; last sample at %s",
			       type, range_text(request, range), slot_time(last_slot, last));
}

int no_data_message(struct store *store, const struct profile_request *request,
		    const struct selection *selection, struct arena *arena,
		    char ret_message[PROFILE_MESSAGE_SIZE])
{
	const struct store_series_query query = { .tenant = request->tenant, .type = EVENT_NONE };
	struct store_series *series;
	size_t n_series;
	char range[64];
	int r;

	if (selection->n_series == 0 && selection->n_filtered > 0) {
		(void)snprintf(ret_message, PROFILE_MESSAGE_SIZE,
			       "tag_filter selects none of the %zu series with %s samples %s",
			       selection->n_filtered, event_type_name(request->type),
			       range_text(request, range));
		return 0;
	}
	r = store_find_series(store, &query, arena, &series, &n_series);
	if (r < 0)
		return r;
	if (selection->total || !request->service || !request->service[0])
		fleet_message(request, series, n_series, ret_message);
	else
		service_message(request, series, n_series, ret_message);
	return 0;
}
