/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The series that a request means: of its tenant, type, service and time, and left over by the
 * filter.
 */

#include "symbolizer/query/profile.h"

#define TOTAL_SERVICE "Total"

/* Services that one answer without app_service may merge. */
#define SELECTION_MAX_SERVICES 10

struct selection {
	struct store_series *series; /* in order of id; in the arena */
	size_t n_series;
	size_t n_filtered; /* that the filter left out */
	const char *label; /* of the root: the service, or all of them joined by ", " */
	bool total;
};

/*
 * 1 at least one series, 0 none (*ret_selection is filled in either case), -EINVAL with a message:
 * the request is at fault. The message of 0 is made by no_data_message().
 */
int selection_make(struct store *store, const struct profile_request *request, struct arena *arena,
		   struct selection *ret_selection, char ret_message[PROFILE_MESSAGE_SIZE]);

/* Whether a process may be looked at as a service. */
bool is_service(const struct store_process *process);

/* Values of these types are states, of which the last one counts. */
bool is_state_type(enum event_type type);

/* Values of these types are nanoseconds. */
bool is_time_type(enum event_type type);
