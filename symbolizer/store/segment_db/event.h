/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Looks up event types that are not in the table of common/event_type.h. */

#include "symbolizer/store/segment_db/segment_db.h"

/*
 * Finds the event type of this name that the tenant has samples of on any day that is kept, also of
 * batches in memory. ret_info->type is EVENT_NONE, and its texts are in @arena. 1 found, 0 unknown.
 */
int segment_db_find_event(struct segment_db *db, const char *tenant, const char *event,
			  struct arena *arena, struct event_type_info *ret_info);
