/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/query/profile_message.h"

#include "symbolizer/query/reduced_sampling.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "common/limits.h"
#include "common/did_you_mean.h"

#define SUGGESTED_SERVICES 5

/* Services that are compared with an unknown name. In a longer list the first are enough. */
#define MAX_CONSIDERED_SERVICES 10000

/* Large enough for the names of all event types. */
#define TYPES_TEXT_SIZE 128

const char *profile_message_time(uint64_t slot, char ret_text[PROFILE_TIME_TEXT_SIZE])
{
	time_t seconds = (time_t)(slot / (NSEC_PER_SEC / SLOT_NS));
	struct tm utc;

	if (!gmtime_r(&seconds, &utc) ||
	    strftime(ret_text, PROFILE_TIME_TEXT_SIZE, "%Y-%m-%dT%H:%M:%SZ", &utc) == 0)
		(void)snprintf(ret_text, PROFILE_TIME_TEXT_SIZE, "?");
	return ret_text;
}

/* "between A and B" */
static const char *range_text(const struct profile_request *request, char ret_text[64])
{
	char from[PROFILE_TIME_TEXT_SIZE], to[PROFILE_TIME_TEXT_SIZE];

	(void)snprintf(ret_text, 64, "between %s and %s",
		       profile_message_time(request->from_slot, from),
		       profile_message_time(request->to_slot, to));
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

/* Inserts a name into the nearest ones, which are sorted by distance, then alphabetically. */
static void suggest(struct suggestions *suggestions, const char *name, unsigned int distance)
{
	size_t index = 0;

	while (index < suggestions->count) {
		const struct suggestion *other = &suggestions->items[index];
		int order = strcmp(name, other->name);

		if (order == 0)
			return;
		if (distance < other->distance || (distance == other->distance && order < 0))
			break;
		index++;
	}
	if (suggestions->count == SUGGESTED_SERVICES)
		suggestions->more = true;
	if (index == SUGGESTED_SERVICES)
		return;
	suggestions->count = MIN(suggestions->count + 1, (size_t)SUGGESTED_SERVICES);
	memmove(&suggestions->items[index + 1], &suggestions->items[index],
		(suggestions->count - index - 1) * sizeof(suggestions->items[0]));
	suggestions->items[index] = (struct suggestion){ .name = name, .distance = distance };
}

/* Input of the messages. They need only names and last slots from the store: a fleet's samples of
 * past days are too many to read for a message. */
struct known {
	struct store_view *view;
	const struct profile_request *request;
	const struct store_service *services;
	size_t n_services;
	bool listed; /* the store could read the services */
};

static void unknown_service_message(const struct known *known, char *message)
{
	const char *service = known->request->service;
	struct suggestions suggestions = {};
	size_t used;

	for (size_t i = 0; i < known->n_services; i++) {
		const struct store_service *other = &known->services[i];

		if (!other->without_stacks && strcmp(other->name, TOTAL_SERVICE) != 0)
			suggest(&suggestions, other->name, name_distance(service, other->name));
	}
	used = (size_t)snprintf(message, PROFILE_MESSAGE_SIZE, "no service '%.100s'", service);
	if (!known->listed)
		return;
	if (suggestions.count == 0) {
		(void)snprintf(message + used, PROFILE_MESSAGE_SIZE - used,
			       "; no service is known yet");
		return;
	}
	used += (size_t)snprintf(message + used, PROFILE_MESSAGE_SIZE - used, "; known services: ");
	for (size_t i = 0; i < suggestions.count; i++)
		used += (size_t)snprintf(message + used, PROFILE_MESSAGE_SIZE - used, "%s%.60s",
					 i > 0 ? ", " : "", suggestions.items[i].name);
	if (suggestions.more)
		(void)snprintf(message + used, PROFILE_MESSAGE_SIZE - used, ", ...");
}

static const struct store_service *find_service(const struct known *known)
{
	for (size_t i = 0; i < known->n_services; i++)
		if (strcmp(known->services[i].name, known->request->service) == 0)
			return &known->services[i];
	return NULL;
}

/* Returns the last slot with samples of @type, 0: none or the store failed. @service NULL: all. */
static uint64_t last_slot_of(const struct known *known, const char *service, enum event_type type)
{
	uint64_t slot = 0;
	int r = store_last_slot(known->view, service, type, &slot);

	return r > 0 ? slot : 0;
}

/* The same for the event types of the request. */
static uint64_t last_slot_of_request(const struct known *known, const char *service)
{
	const enum event_type *types;
	size_t n_types = profile_types(known->request, &types);
	uint64_t slot = 0;

	for (size_t i = 0; i < n_types; i++)
		slot = MAX(slot, last_slot_of(known, service, types[i]));
	return slot;
}

/* Writes the event types of the service's samples, "on-cpu, off-cpu"; "" if it has none. */
static void list_types(const struct known *known, char ret_text[TYPES_TEXT_SIZE])
{
	size_t used = 0;

	ret_text[0] = '\0';
	for (enum event_type type = EVENT_NONE + 1; type < EVENT_TYPE_END && used < TYPES_TEXT_SIZE;
	     type++) {
		if (last_slot_of(known, known->request->service, type) == 0)
			continue;
		used += (size_t)snprintf(ret_text + used, TYPES_TEXT_SIZE - used, "%s%s",
					 used > 0 ? ", " : "", event_type_name(type));
	}
}

static void known_service_message(const struct known *known, char *message)
{
	const struct profile_request *request = known->request;
	uint64_t last_slot = last_slot_of_request(known, request->service);
	const char *type = profile_event(request)->name;
	char range[64], last[PROFILE_TIME_TEXT_SIZE], others[TYPES_TEXT_SIZE];

	if (last_slot != 0) {
		(void)snprintf(message, PROFILE_MESSAGE_SIZE,
			       "service '%.100s' has no %s samples %s; last sample at %s",
			       request->service, type, range_text(request, range),
			       profile_message_time(last_slot, last));
		return;
	}
	list_types(known, others);
	if (others[0])
		(void)snprintf(message, PROFILE_MESSAGE_SIZE,
			       "service '%.100s' has no %s samples, only others (%s)",
			       request->service, type, others);
	else
		(void)snprintf(message, PROFILE_MESSAGE_SIZE, "service '%.100s' has no %s samples",
			       request->service, type);
}

static void service_message(const struct known *known, char *message)
{
	const struct store_service *service = find_service(known);

	if (!service)
		unknown_service_message(known, message);
	else if (service->without_stacks)
		(void)snprintf(message, PROFILE_MESSAGE_SIZE,
			       "process '%.100s' is left out by the agent's configuration: it "
			       "counts in '%s' only",
			       service->name, TOTAL_SERVICE);
	else
		known_service_message(known, message);
}

static void fleet_message(const struct known *known, char *message)
{
	uint64_t last_slot = last_slot_of_request(known, NULL);
	const char *type = profile_event(known->request)->name;
	char range[64], last[PROFILE_TIME_TEXT_SIZE];

	if (last_slot == 0)
		(void)snprintf(message, PROFILE_MESSAGE_SIZE, "no %s samples were ever stored",
			       type);
	else
		(void)snprintf(message, PROFILE_MESSAGE_SIZE, "no %s samples %s; last sample at %s",
			       type, range_text(known->request, range),
			       profile_message_time(last_slot, last));
}

int no_data_message(struct store_view *view, const struct profile_request *request,
		    const struct selection *selection, struct arena *arena,
		    char ret_message[PROFILE_MESSAGE_SIZE])
{
	struct known known = { .view = view, .request = request };
	struct store_service *services = NULL;
	char range[64];

	if (selection->n_series == 0 && selection->n_filtered > 0) {
		(void)snprintf(ret_message, PROFILE_MESSAGE_SIZE,
			       "tag_filter selects none of the %zu series with %s samples %s",
			       selection->n_filtered, profile_event(request)->name,
			       range_text(request, range));
		return 0;
	}
	if (selection->total || !request->service || !request->service[0]) {
		fleet_message(&known, ret_message);
		return 0;
	}
	/* The result (no data) is known already: a store that cannot list services only makes the
	 * message shorter. */
	known.listed = store_list_services(view, MAX_CONSIDERED_SERVICES, arena, &services,
					   &known.n_services) == 0;
	known.services = services;
	service_message(&known, ret_message);
	return 0;
}

void profile_message_append(char message[PROFILE_MESSAGE_SIZE], const char *format, ...)
{
	size_t used = strlen(message);
	va_list arguments;

	used += (size_t)snprintf(message + used, PROFILE_MESSAGE_SIZE - used, "%s",
				 used > 0 ? "; " : "");
	if (used >= PROFILE_MESSAGE_SIZE)
		return;
	va_start(arguments, format);
	(void)vsnprintf(message + used, PROFILE_MESSAGE_SIZE - used, format, arguments);
	va_end(arguments);
}

void profile_message_append_damaged(char message[PROFILE_MESSAGE_SIZE], uint64_t n_damaged_blocks)
{
	if (n_damaged_blocks > 0)
		profile_message_append(message, "%llu damaged blocks of samples are left out",
				       (unsigned long long)n_damaged_blocks);
}

void profile_message_append_wider(char message[PROFILE_MESSAGE_SIZE], const struct store_sums *sums,
				  const struct profile_request *request)
{
	char from[PROFILE_TIME_TEXT_SIZE], to[PROFILE_TIME_TEXT_SIZE];

	if (sums->from_slot >= sums->to_slot ||
	    (sums->from_slot >= request->from_slot && sums->to_slot <= request->to_slot))
		return;
	profile_message_append(message,
			       "the answer covers %s to %s: only the sums of whole hours are left "
			       "of the range (retention)",
			       profile_message_time(sums->from_slot, from),
			       profile_message_time(sums->to_slot, to));
}

void profile_message_append_removed(char message[PROFILE_MESSAGE_SIZE], struct store_view *view,
				    const struct profile_request *request)
{
	char until[PROFILE_TIME_TEXT_SIZE];
	enum store_removal reason;
	uint64_t slot;

	if (store_removed_until(view, &slot, &reason) <= 0 || request->from_slot >= slot)
		return;
	profile_message_append(
		message, "samples before %s are not kept: the server limits their %s",
		profile_message_time(slot, until),
		reason == STORE_REMOVED_BY_SIZE ? "space (retention_size)" : "age (retention)");
}

void profile_message_append_reduced(char message[PROFILE_MESSAGE_SIZE],
				    const struct profile_stats *stats,
				    const struct store_series *series, size_t n_series)
{
	char hosts[PROFILE_MESSAGE_SIZE];

	if (stats->value_reduced > 0)
		profile_message_append(
			message,
			"%.3g %% was sampled at a lower frequency, to keep the agent within its "
			"budget: values are right, but rest on fewer samples",
			100.0 * (double)stats->value_reduced / (double)stats->value_total);
	if (reduced_sampling_describe_hosts(series, n_series, hosts, sizeof(hosts)) == 0 &&
	    hosts[0])
		profile_message_append(message, "%s", hosts);
}
