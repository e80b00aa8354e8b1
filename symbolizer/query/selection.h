/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The series of a request: those of its tenant, event type, service and time range that its filter
 * selects.
 */

#include "symbolizer/query/profile.h"

#define TOTAL_SERVICE "Total"

/* Services that one answer without app_service may merge. */
#define SELECTION_MAX_SERVICES 10

struct selection {
	struct store_series *series; /* in order of id; in the arena */
	size_t n_series;
	size_t n_filtered; /* series that the filter excluded */
	const char *label; /* of the root: the service, or all services joined by ", " */
	bool total;        /* the service is TOTAL_SERVICE: whole hosts */
};

/*
 * Fills *ret_selection and returns 1, or 0 if no series is selected (no_data_message() composes the
 * message for that). Returns -EINVAL and fills ret_message if the request is wrong, and another
 * negative errno if the store fails.
 */
int selection_make(struct store_view *view, const struct profile_request *request,
		   struct arena *arena, struct selection *ret_selection,
		   char ret_message[PROFILE_MESSAGE_SIZE]);

struct filter_error;
struct tag_names;

/*
 * Writes the error of @parameter, whose value is @text: with the number of the character, and with
 * the known tags of @names if the error is an unknown one.
 */
void selection_describe_error(const char *parameter, const char *text,
			      const struct filter_error *error, const struct tag_names *names,
			      char ret_message[PROFILE_MESSAGE_SIZE]);

/* Returns the period that all series have; 0: they differ, or have none. */
uint64_t selection_period(const struct selection *selection);

/* Returns the longest period of the series; 0: one has none. */
uint64_t selection_longest_period(const struct selection *selection);

/* False for a process that can only be part of Total: without stacks, or named "Total". */
bool is_service(const struct store_process *process);

/* Returns the factor from the series' stored values to the event type's unit: the period, or 1. */
uint64_t series_factor(const struct store_series *series);

/* True if a value is a state (memory in use), so that the last one replaces earlier ones. */
bool has_states(const struct profile_request *request);

/* True if values are nanoseconds. */
bool has_times(const struct profile_request *request);
