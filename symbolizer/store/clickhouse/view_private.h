/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The state of a view, for the files view*.c.
 *
 * Handles are the numbers of id_table.h. A view remembers the range of its queries, because the
 * definitions of all that their answers refer to are rows of these days.
 */

#include "common/hash_table.h"
#include "common/vec.h"
#include "symbolizer/store/clickhouse/clickhouse_store_private.h"
#include "symbolizer/store/clickhouse/id_table.h"
#include "symbolizer/store/clickhouse/sql.h"
#include "symbolizer/store/clickhouse/sums.h"

struct clickhouse_view {
	struct store_view view;
	struct clickhouse_store *store;
	struct arena *arena;     /* lives as long as the view */
	struct slot_range range; /* that has been asked for; from > last: none */
	struct id_table *series, *processes, *path_sets, *stacks, *executables, *code_objects;
	struct id_table *agents;                     /* handles of hosts */
	VEC_DEFINE(, struct sum_source) sources;     /* by number of the series */
	VEC_DEFINE(, uint32_t) path_set_of;          /* by number of the process; 0 unknown */
	VEC_DEFINE(, struct event_type_info) events; /* those that common/event_type.h lacks */
};

static inline struct clickhouse_view *clickhouse_view_of(struct store_view *view)
{
	return container_of(view, struct clickhouse_view, view);
}

/* Runs a query of the view, which can be cancelled. @arg is a struct clickhouse_view. */
int clickhouse_view_run(void *arg, const struct clickhouse_query *query);

/* Adds [from_slot, to_slot) to the range of the view. False: no sample can be in it. */
bool clickhouse_view_add_range(struct clickhouse_view *self, uint64_t from_slot, uint64_t to_slot,
			       struct slot_range *ret_range);

/* Appends the condition on days for definitions of handles. */
void clickhouse_view_add_days(const struct clickhouse_view *self, struct bytes *sql);

/*
 * Looks up the rows of many handles with one query for some ten thousand. The query has the table
 * "wanted" with the column id.
 */
struct clickhouse_lookup {
	struct clickhouse_view *self;
	const struct id_table *ids;
	const char *select; /* "SELECT ... FROM ... WHERE id IN (SELECT id FROM wanted) AND " */
	const char *after;  /* the days: " ORDER BY ...". FORMAT follows. */
	int (*read_row)(void *arg, struct bytes_reader *row);
	void *arg;
};

/* Unknown handles and 0 are left out. */
int clickhouse_view_look_up(const struct clickhouse_lookup *lookup, const uint64_t *numbers,
			    size_t count);
int clickhouse_view_look_up_ids(const struct clickhouse_lookup *lookup, const uint32_t *numbers,
				size_t count);

/*
 * The number of an event type; @info has its texts in any memory, and those of *ret_info live as
 * long as the view. -ENOSPC: too many types.
 */
int clickhouse_view_event_type(struct clickhouse_view *self, struct bytes_view name,
			       struct bytes_view unit, uint8_t kind,
			       struct event_type_info *ret_info);

/* The name of a type. NULL: EVENT_NONE, or unknown. */
const char *clickhouse_view_event_name(const struct clickhouse_view *self, enum event_type type);

/* view_hosts.c: hosts by the number of their agent, all in @arena. */
struct clickhouse_hosts {
	struct hash_table *by_number; /* u32 -> struct store_host * */
};
int clickhouse_view_load_hosts(struct clickhouse_view *self, struct arena *arena,
			       struct clickhouse_hosts *ret_hosts);
void clickhouse_hosts_release(struct clickhouse_hosts *hosts);

/* Operations: view_series.c */
int clickhouse_view_find_series(struct store_view *view, const struct store_series_query *query,
				struct arena *arena, struct store_series **ret_series,
				size_t *ret_count);

/* view_processes.c: the processes of these numbers, by number. */
int clickhouse_view_load_processes(struct clickhouse_view *self, const uint64_t *numbers,
				   size_t count, struct arena *arena,
				   struct hash_table **ret_processes);

/* view_sums.c */
int clickhouse_view_sum(struct store_view *view, const struct store_sum_query *query,
			struct store_sums *ret_sums);
int clickhouse_view_scan(struct store_view *view, const struct store_range *range,
			 store_row_function function, void *arg);

/* view_batches.c */
int clickhouse_view_scan_coverage(struct store_view *view, const uint32_t *hosts, size_t count,
				  uint64_t from_slot, uint64_t to_slot,
				  store_coverage_function function, void *arg);
int clickhouse_view_scan_counters(struct store_view *view, const struct store_counter_query *query,
				  store_counters_function function, void *arg);

/* view_stacks.c */
int clickhouse_view_load_stacks(struct store_view *view, const uint64_t *stack_ids, size_t count,
				struct arena *arena, struct store_stack *ret_stacks);

/* view_objects.c */
int clickhouse_view_load_executables(struct store_view *view, const uint32_t *ids, size_t count,
				     struct arena *arena, struct store_executable *ret_executables);
int clickhouse_view_find_executable(struct store_view *view, const struct executable_id *identity,
				    struct arena *arena, struct store_executable *ret_executable);
int clickhouse_view_load_code_objects(struct store_view *view, const uint32_t *ids, size_t count,
				      struct arena *arena, struct store_code_object *ret_objects);
int clickhouse_view_named_frames(struct store_view *view, const uint64_t *addresses, size_t count,
				 struct arena *arena, const char **ret_names);

/* view_paths.c */
int clickhouse_view_paths_of(struct store_view *view, const struct store_mapped_file *files,
			     size_t count, struct arena *arena, const char **ret_paths);

/* view_hosts.c */
int clickhouse_view_list_hosts(struct store_view *view, struct arena *arena,
			       struct store_host **ret_hosts, size_t *ret_count);

/* view_services.c */
int clickhouse_view_list_services(struct store_view *view, size_t max, struct arena *arena,
				  struct store_service **ret_services, size_t *ret_count);
int clickhouse_view_active_services(struct store_view *view, const struct store_series_query *query,
				    struct arena *arena, struct store_active_service **ret_services,
				    size_t *ret_count);
int clickhouse_view_last_slot(struct store_view *view, const char *service, enum event_type type,
			      uint64_t *ret_slot);
int clickhouse_view_list_label_names(struct store_view *view, const char *from, size_t max,
				     struct arena *arena, const char ***ret_names,
				     size_t *ret_count);
int clickhouse_view_find_event_type(struct store_view *view, const char *name, struct arena *arena,
				    struct event_type_info *ret_info);

/*
 * view_series.c: appends a SELECT of (id, first_seen, last_seen) for the series with samples in the
 * range. The series are those of the conditions of clickhouse_view_add_series_of().
 */
void clickhouse_view_add_active(const struct clickhouse_view *self,
				const struct store_series_query *query,
				const struct slot_range *range, struct bytes *sql);

/* "FROM series WHERE ...": the series of the tenant, service and type of @query on these days. */
void clickhouse_view_add_series_of(const struct clickhouse_view *self,
				   const struct store_series_query *query,
				   const struct slot_range *range, struct bytes *sql);
