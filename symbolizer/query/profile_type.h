/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Pyroscope's names of event types: "name:sample_type:sample_unit:period_type:period_unit". Types
 * that Pyroscope knows have its names, so that Grafana knows their units; others have their own
 * name in all places: "off-cpu:off-cpu:nanoseconds:off-cpu:nanoseconds".
 */

#include "common/base.h"
#include "common/event_type.h"

#define PROFILE_TYPE_PARTS   5
#define PROFILE_TYPE_ID_SIZE 1024

struct profile_type {
	char id[PROFILE_TYPE_ID_SIZE];
	/* Name, sample type, sample unit, period type, period unit. */
	char parts[PROFILE_TYPE_PARTS][256];
};

/* Writes the ID of the event type. */
void profile_type_id(const struct event_type_info *event, char ret_id[PROFILE_TYPE_ID_SIZE]);

/* Writes the ID and its parts. */
void profile_type_make(const struct event_type_info *event, struct profile_type *ret_type);

/*
 * Writes the name of the event type that has this ID, which may be unknown. Returns false if @id
 * does not have the form of an ID. A sixth part, such as ":delta", is ignored.
 */
bool profile_type_event_name(const char *id, char *ret_name, size_t size);
