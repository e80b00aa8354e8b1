/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The values of a selection in each step of a time range, for the whole selection and for each
 * value of some tags. The storage engine sums the steps; no stack is read.
 *
 * A step in which no agent of the selected hosts ran has no value, because that time is not idle
 * time. Without a record of coverage, all steps have values.
 */

#include "symbolizer/query/profile.h"

/* Values of all groups and steps before the largest groups are chosen. */
#define TIMELINE_MAX_VALUES (4u << 20)

struct timeline_request {
	/* from_slot and to_slot are the range. group_by has no effect. */
	const struct profile_request *profile;
	uint64_t step_slots;
	const char *const *tags; /* [n_tags] each combination of their values is a group */
	size_t n_tags;
	size_t max_groups; /* those with the largest totals are kept */
};

struct timeline_row {
	const char **names; /* [n_tags] values of the tags, joined by ","; NULL: it has none */
	uint64_t total;     /* in the event type's unit */
	uint64_t *values;   /* [n_steps] */
	uint8_t *has_value; /* [n_steps] 0: no agent ran */
};

struct timeline {
	uint64_t from_slot, step_slots;
	size_t n_steps;
	struct timeline_row all;
	struct timeline_row *groups; /* the largest first */
	size_t n_groups;
	size_t n_all_groups; /* including those beyond max_groups */
	uint64_t n_damaged_blocks;
	struct losses losses; /* of the selected hosts */
};

/*
 * Returns 1 if there are values (ret_message is empty or names missing parts), 0 if there are none
 * (ret_message has the reason; the steps are those in which agents ran, if any host is selected),
 * -EINVAL if the request is wrong (ret_message has the error), or another negative errno if the
 * store failed. *ret_timeline is in @arena.
 *
 * The range has at most STORE_MAX_STEPS steps. Without a service the selection is Total, unless
 * profile->any_services is set.
 */
int timeline_query(struct store_view *view, const struct timeline_request *request,
		   struct arena *arena, struct timeline *ret_timeline,
		   char ret_message[PROFILE_MESSAGE_SIZE]);
