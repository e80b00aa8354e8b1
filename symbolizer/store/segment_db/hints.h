/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Looks up names and times for messages about data that was not found. Batches in memory count too.
 * Each lookup reads indexes only, and a bounded number of their entries.
 */

#include "symbolizer/store/segment_db/segment_db.h"

/* NULL: not restricted. */
struct segment_db_names {
	const char *tenant; /* required */
	const char *service, *event;
};

/*
 * Lists services with samples on any day that is kept, sorted, at most @max. without_stacks: all
 * processes of the service are, in one of its latest segments. With tens of thousands of services,
 * some of those that are only in the oldest files may lack. ret_services[*ret_count] is in @arena.
 */
int segment_db_list_services(struct segment_db *db, const char *tenant, size_t max,
			     struct arena *arena, struct store_service **ret_services,
			     size_t *ret_count);

/*
 * Finds the slot of the last sample. Of an hour of which only the roll-up is left, the first slot
 * counts. 1 found, 0 there is none.
 */
int segment_db_last_slot(struct segment_db *db, const struct segment_db_names *names,
			 uint64_t *ret_slot);

struct segment_db_label_query {
	const char *tenant;
	const char *from; /* names that are not less than it */
	size_t max;
};

/*
 * Lists names of labels of processes and series, sorted. ret_names[*ret_count] is in @arena. Names
 * of deleted services stay until the last of their days is removed.
 */
int segment_db_list_label_names(struct segment_db *db, const struct segment_db_label_query *query,
				struct arena *arena, const char ***ret_names, size_t *ret_count);
