/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The operations of store_view.h, on a borrowed set of connections.
 */

#include "symbolizer/store/sqlite/connections.h"
#include "symbolizer/store/store.h"

/* read_series.c */
int read_find_series(struct connection_set *set, const char *tenant,
		     const struct store_series_query *query, struct arena *arena,
		     struct store_series **ret_series, size_t *ret_count);

/* read_rows.c */
int read_list_hosts(struct connection_set *set, const char *tenant, struct arena *arena,
		    struct store_host **ret_hosts, size_t *ret_count);

/* Returns 1 if found, 0 if not. */
int read_host(struct connection_set *set, uint32_t id, struct arena *arena,
	      struct store_host *ret_host, const char **ret_tenant);
int read_paths_of(struct connection_set *set, const struct store_mapped_file *files, size_t count,
		  struct arena *arena, const char **ret_paths);
int read_named_frames(struct connection_set *set, const uint64_t *ids, size_t count,
		      struct arena *arena, const char **ret_names);

int read_executables(struct connection_set *set, const uint32_t *ids, size_t count,
		     struct arena *arena, struct store_executable *ret_executables);
int read_executable_by_identity(struct connection_set *set, const char *tenant,
				const struct executable_id *identity, struct arena *arena,
				struct store_executable *ret_executable);
int read_agent_executables(struct connection_set *set, const char *tenant,
			   const struct hash128 *agent, uint64_t epoch, size_t max,
			   struct arena *arena, struct store_executable **ret_executables,
			   size_t *ret_count);

/* read_code_objects.c */
int read_code_objects(struct connection_set *set, const uint32_t *ids, size_t count,
		      struct arena *arena, struct store_code_object *ret_objects);
int read_event_type(struct connection_set *set, const char *tenant, const char *name,
		    struct arena *arena, struct event_type_info *ret_info);
/*
 * Reads the description of event type @type from table event_type. A series of such a type is
 * stored only together with its description.
 */
int read_event_of_number(struct sqlite_db *hearth, uint32_t type, struct arena *arena,
			 struct event_type_info *ret_info);

/* read_hints.c */
int read_list_services(struct connection_set *set, const char *tenant, size_t max,
		       struct arena *arena, struct store_service **ret_services, size_t *ret_count);
int read_last_slot(struct connection_set *set, const char *tenant, const char *service,
		   enum event_type type, uint64_t *ret_slot);
int read_list_label_names(struct connection_set *set, const char *tenant, const char *from,
			  size_t max, struct arena *arena, const char ***ret_names,
			  size_t *ret_count);

/* read_days.c: the first and last slot of a series in one day */
typedef int (*activity_function)(void *arg, uint32_t series, uint64_t first_slot,
				 uint64_t last_slot);

/*
 * Calls @function for each series and day in the range of @query, in the order of series within a
 * day. Returns the number of days, or a negative errno, also of @function.
 */
int read_activity(struct connection_set *set, const struct store_series_query *query,
		  struct arena *arena, activity_function function, void *arg);

/* read_days.c */
struct read_range {
	uint64_t from_slot, to_slot;
	bool newest_first;
};

/* One day file, and the part of the range in it. */
struct read_day {
	struct sqlite_db *db;
	day_number day;
	uint64_t from_slot, to_slot;
	/* At least the time from the first to the last moment of any batch in the file. */
	uint64_t max_span_ns;
};

/* Sets *ret_stopped if the caller's function, not the file, is the cause of a negative result. */
typedef int (*read_day_function)(void *arg, const struct read_day *day, int *ret_stopped);

/* Calls @function for each day file of @range until it returns a negative value. */
int read_walk_days(struct connection_set *set, const struct read_range *range,
		   read_day_function function, void *arg);

/* read_services.c */
int read_active_services(struct connection_set *set, const char *tenant,
			 const struct store_series_query *query, struct arena *arena,
			 struct store_active_service **ret_services, size_t *ret_count);

/* read_coverage.c */
int read_scan_coverage(struct connection_set *set, const uint32_t *hosts, size_t count,
		       uint64_t from_slot, uint64_t to_slot, store_coverage_function function,
		       void *arg);

/* read_counters.c */
int read_scan_counters(struct connection_set *set, const struct store_counter_query *query,
		       store_counters_function function, void *arg);

/* read_scan.c */
int read_scan(struct connection_set *set, const struct store_view *view,
	      const struct store_range *range, store_row_function function, void *arg);
int read_sum(struct connection_set *set, const struct store_view *view,
	     const struct store_sum_query *query, struct store_sums *ret_sums);
