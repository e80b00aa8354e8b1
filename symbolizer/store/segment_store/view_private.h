/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The state of a view, for the files view*.c. */

#include "common/hash_table.h"
#include "common/vec.h"
#include "symbolizer/store/segment_db/reader.h"
#include "symbolizer/store/segment_store/segment_store_private.h"
#include "symbolizer/store/segment_view/segment_view.h"

VEC_DEFINE(reader_list, struct segment_db_reader *);

struct engine_view {
	struct store_view view;
	struct segment_store *store;
	struct segment_view *segments;
	struct arena *arena; /* what lives as long as the view */
	struct reader_list readers;
	struct hash_table *hours; /* struct hour_key -> u64 number of the load */

	/* Handles of hosts -> struct store_host *, with all attributes. NULL: not loaded yet. */
	struct hash_table *hosts;

	unsigned int n_executable_lookups;
	bool has_executables; /* all of the store were added to @segments */
};

static inline struct engine_view *engine_view_of(struct store_view *view)
{
	return container_of(view, struct engine_view, view);
}

/* The name of an event type; NULL: EVENT_NONE. */
const char *view_event_name(const struct engine_view *self, enum event_type type);

/* view_hosts.c */

/* Replaces the hosts of @series, which segments describe in part only. 0 or -ENOMEM. */
int view_complete_hosts(struct engine_view *self, struct store_series *series, size_t count);

/* Operations. */
int view_list_hosts(struct store_view *view, struct arena *arena, struct store_host **ret_hosts,
		    size_t *ret_count);
int view_scan_coverage(struct store_view *view, const uint32_t *hosts, size_t count,
		       uint64_t from_slot, uint64_t to_slot, store_coverage_function function,
		       void *arg);
int view_scan_counters(struct store_view *view, const struct store_counter_query *query,
		       store_counters_function function, void *arg);

/* view_hints.c: operations. */
int view_find_executable(struct store_view *view, const struct executable_id *identity,
			 struct arena *arena, struct store_executable *ret_executable);
int view_find_event_type(struct store_view *view, const char *name, struct arena *arena,
			 struct event_type_info *ret_info);
int view_list_services(struct store_view *view, size_t max, struct arena *arena,
		       struct store_service **ret_services, size_t *ret_count);
int view_last_slot(struct store_view *view, const char *service, enum event_type type,
		   uint64_t *ret_slot);
int view_list_label_names(struct store_view *view, const char *from, size_t max,
			  struct arena *arena, const char ***ret_names, size_t *ret_count);
