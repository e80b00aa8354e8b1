/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Reads the sample store. All reads go through a view, which belongs to one tenant and one request.
 *
 * The IDs of hosts, processes, series, stacks, executables, code objects, and event types that are
 * not in the table of common/event_type.h, are handles, and so are the addresses of KERNEL_NAMED
 * frames. A handle is valid only in the view that returned it: another view may use the same number
 * for another object. To remember an object for longer, use its identity (an executable's build-ID;
 * the host, PID and start time of a process).
 *
 * Results are valid as long as the view and the arena of the call.
 *
 * A view sees at least the batches that were stored before it was opened. It may see later ones,
 * and two calls may see different ones. Data that retention removes while the view is open may be
 * missing. A view is used by one thread at a time. Between two calls it holds nothing that others
 * wait for, so that it may stay open while an answer is written.
 */

#include <stdlib.h>

#include "common/arena.h"
#include "common/bytes.h"
#include "common/cancel.h"
#include "common/memory_budget.h"
#include "symbolizer/store/batch.h"
#include "symbolizer/store/store_sum.h"
#include "symbolizer/store/stored_objects.h"

struct store;

struct store_view_options {
	const char *tenant; /* required */
	/* Ends long reads with -ECANCELED. NULL: they run to the end. */
	const struct cancel *cancel;
	/* Of sums and other large results. NULL: no limit. */
	struct memory_budget *memory;
};

/* The first field of an engine's view. The last three are the options; callers may read them. */
struct store_view {
	const struct store_view_operations *operations;
	const char *tenant;
	const struct cancel *cancel;
	struct memory_budget *memory;
};

/* Selects series. Fields that are zero or NULL do not restrict the result. */
struct store_series_query {
	enum event_type type; /* EVENT_NONE: all */
	const char *service;  /* process name */
	uint64_t from_slot;   /* only series with samples in [from_slot, to_slot) */
	uint64_t to_slot;     /* 0: no limit */
};

/* The rows that store_scan() visits. */
struct store_range {
	const uint64_t *series_ids; /* ascending */
	size_t n_series;
	uint64_t from_slot, to_slot; /* [from_slot, to_slot) */
};

/* @series_index is an index into the IDs of store_scan(). A result < 0 ends the scan with it. */
typedef int (*store_row_function)(void *arg, uint32_t series_index, uint64_t stack_id,
				  uint64_t slot, uint64_t value);

/*
 * Called with the time that one batch covers: the agent of @host ran from @first_slot to
 * @last_slot. A result < 0 ends the scan with it.
 */
typedef int (*store_coverage_function)(void *arg, uint32_t host, uint64_t first_slot,
				       uint64_t last_slot);

/*
 * Selects the newest batches of each host that overlap [from_slot, to_slot), and the counters that
 * are summed for each batch: names[i] is the name of a counter, or the begin of the names of
 * several. A counter belongs to the first of @names that matches.
 */
#define STORE_MAX_COUNTER_NAMES 64
struct store_counter_query {
	const uint32_t *hosts; /* [n_hosts] IDs */
	size_t n_hosts;
	uint64_t from_slot, to_slot;
	const char *const *names; /* [n_names] */
	size_t n_names;
	size_t max_batches; /* of each host, exceeded by less than the batches of a minute */
};

/* The name of a pseudo counter: counters that were not stored because there are too many names. */
#define STORE_COUNTERS_LEFT_OUT "counters_left_out{}"

/* The increase of counters between the opening and the closing of one batch. */
struct store_batch_counters {
	size_t host_index; /* in query->hosts */
	/* Distinguishes the runs of an agent, and the days of a run. Batches of one run and day are
	 * visited consecutively. */
	uint64_t run;
	uint64_t sequence;
	uint64_t opened_wall_ns, closed_wall_ns; /* by the clock of the host */
	/* From the closing until the batch was stored, by the server's clock at the end. Negative
	 * if the host's clock is ahead. INT64_MAX: unknown. */
	int64_t delay_ms;
	const uint64_t *values; /* [query->n_names] */
};

/* @counters is valid during the call only. A result < 0 ends the scan with it. */
typedef int (*store_counters_function)(void *arg, const struct store_batch_counters *counters);

/* Why samples were removed. */
enum store_removal {
	STORE_REMOVED_BY_AGE = 1,
	STORE_REMOVED_BY_SIZE = 2,
};

struct store_view_operations {
	int (*find_series)(struct store_view *view, const struct store_series_query *query,
			   struct arena *arena, struct store_series **ret_series,
			   size_t *ret_count);
	int (*sum)(struct store_view *view, const struct store_sum_query *query,
		   struct store_sums *ret_sums);
	int (*scan)(struct store_view *view, const struct store_range *range,
		    store_row_function function, void *arg);
	int (*scan_coverage)(struct store_view *view, const uint32_t *hosts, size_t count,
			     uint64_t from_slot, uint64_t to_slot, store_coverage_function function,
			     void *arg);
	int (*scan_counters)(struct store_view *view, const struct store_counter_query *query,
			     store_counters_function function, void *arg);
	int (*load_stacks)(struct store_view *view, const uint64_t *stack_ids, size_t count,
			   struct arena *arena, struct store_stack *ret_stacks);
	int (*load_executables)(struct store_view *view, const uint32_t *ids, size_t count,
				struct arena *arena, struct store_executable *ret_executables);
	int (*load_code_objects)(struct store_view *view, const uint32_t *ids, size_t count,
				 struct arena *arena, struct store_code_object *ret_objects);
	int (*find_event_type)(struct store_view *view, const char *name, struct arena *arena,
			       struct event_type_info *ret_info);
	int (*paths_of)(struct store_view *view, const struct store_mapped_file *files,
			size_t count, struct arena *arena, const char **ret_paths);
	int (*named_frames)(struct store_view *view, const uint64_t *addresses, size_t count,
			    struct arena *arena, const char **ret_names);
	int (*list_hosts)(struct store_view *view, struct arena *arena,
			  struct store_host **ret_hosts, size_t *ret_count);
	int (*find_executable)(struct store_view *view, const struct executable_id *identity,
			       struct arena *arena, struct store_executable *ret_executable);
	int (*list_services)(struct store_view *view, size_t max, struct arena *arena,
			     struct store_service **ret_services, size_t *ret_count);
	int (*active_services)(struct store_view *view, const struct store_series_query *query,
			       struct arena *arena, struct store_active_service **ret_services,
			       size_t *ret_count);
	int (*last_slot)(struct store_view *view, const char *service, enum event_type type,
			 uint64_t *ret_slot);
	int (*list_label_names)(struct store_view *view, const char *from, size_t max,
				struct arena *arena, const char ***ret_names, size_t *ret_count);
	int (*removed_until)(struct store_view *view, uint64_t *ret_slot,
			     enum store_removal *ret_reason);
	struct store_view *(*close)(struct store_view *view);
};

/* ret_series[*ret_count] is in @arena, ascending by ID. Series share processes and hosts. */
static inline int store_find_series(struct store_view *view, const struct store_series_query *query,
				    struct arena *arena, struct store_series **ret_series,
				    size_t *ret_count)
{
	return view->operations->find_series(view, query, arena, ret_series, ret_count);
}

/*
 * Sums the rows of series per (group, stack). The engine does the whole work, so that no row leaves
 * it. Beyond max_items, the values of further stacks are summed per group in an item with the stack
 * STORE_OTHER_STACKS, so that the sum of all items is always complete. The items are taken from the
 * view's memory budget until store_sums_release(). Returns 0 or negative errno: -ECANCELED, -ENOMEM
 * also if the budget refuses.
 */
static inline int store_sum(struct store_view *view, const struct store_sum_query *query,
			    struct store_sums *ret_sums)
{
	return view->operations->sum(view, query, ret_sums);
}

/*
 * For checks of an engine; queries use store_sum().
 * Calls @function for every row of @range, in any order. @function must not use the store: the
 * scan holds one of few readers, and would wait for itself. Returns the number of damaged blocks
 * of the series' hosts that were skipped, at most INT_MAX.
 */
static inline int store_scan(struct store_view *view, const struct store_range *range,
			     store_row_function function, void *arg)
{
	return view->operations->scan(view, range, function, arg);
}

/*
 * Calls @function for every batch of these hosts (IDs) that covers a part of [from_slot, to_slot),
 * in any order. Times are not clipped to the range. Batches of an idle host count too. @function
 * must not use the store. -EOPNOTSUPP: the engine does not implement it.
 */
static inline int store_scan_coverage(struct store_view *view, const uint32_t *hosts, size_t count,
				      uint64_t from_slot, uint64_t to_slot,
				      store_coverage_function function, void *arg)
{
	if (!view->operations->scan_coverage)
		return -EOPNOTSUPP;
	return view->operations->scan_coverage(view, hosts, count, from_slot, to_slot, function,
					       arg);
}

/*
 * Calls @function for each batch, day by day with the newest day first. @function must not use the
 * store. Damaged counters are skipped. -EOPNOTSUPP: the engine does not implement it.
 */
static inline int store_scan_counters(struct store_view *view,
				      const struct store_counter_query *query,
				      store_counters_function function, void *arg)
{
	if (!view->operations->scan_counters)
		return -EOPNOTSUPP;
	return view->operations->scan_counters(view, query, function, arg);
}

/* Fills ret_stacks[count]. Stack ID 0 (counted without a stack) and unknown IDs have no frames. */
static inline int store_load_stacks(struct store_view *view, const uint64_t *stack_ids,
				    size_t count, struct arena *arena,
				    struct store_stack *ret_stacks)
{
	return view->operations->load_stacks(view, stack_ids, count, arena, ret_stacks);
}

/* Fills ret_executables[count]. ID 0 and unknown IDs have an identity of kind NONE. */
static inline int store_load_executables(struct store_view *view, const uint32_t *ids, size_t count,
					 struct arena *arena,
					 struct store_executable *ret_executables)
{
	return view->operations->load_executables(view, ids, count, arena, ret_executables);
}

/*
 * Fills ret_objects[count]. Unknown IDs have ID 0 and no texts. -EOPNOTSUPP: the engine does not
 * implement it.
 */
static inline int store_load_code_objects(struct store_view *view, const uint32_t *ids,
					  size_t count, struct arena *arena,
					  struct store_code_object *ret_objects)
{
	if (!view->operations->load_code_objects)
		return -EOPNOTSUPP;
	return view->operations->load_code_objects(view, ids, count, arena, ret_objects);
}

/*
 * Finds the event type of this name. If agents describe it differently, the engine chooses a
 * description. Returns 1 if found, 0 if the tenant has no such type.
 */
static inline int store_find_event_type(struct store_view *view, const char *name,
					struct arena *arena, struct event_type_info *ret_info)
{
	const struct event_type_info *known = event_type_info(event_type_from_name(name));

	if (known) {
		*ret_info = *known;
		return 1;
	}
	if (!view->operations->find_event_type)
		return 0;
	return view->operations->find_event_type(view, name, arena, ret_info);
}

/* Name, unit and kind of the series' event type. */
static inline const struct event_type_info *store_series_event(const struct store_series *series)
{
	return series->event ? series->event : event_type_info(series->type);
}

/* Fills ret_paths[count] with the paths from which processes map executables. NULL: unknown. */
static inline int store_paths_of(struct store_view *view, const struct store_mapped_file *files,
				 size_t count, struct arena *arena, const char **ret_paths)
{
	return view->operations->paths_of(view, files, count, arena, ret_paths);
}

/*
 * Fills ret_names[count] with the names of KERNEL_NAMED frames, which batches of format 1 have. The
 * addresses are those of the store_frames. NULL: unknown.
 */
static inline int store_named_frames(struct store_view *view, const uint64_t *addresses,
				     size_t count, struct arena *arena, const char **ret_names)
{
	return view->operations->named_frames(view, addresses, count, arena, ret_names);
}

static inline int store_list_hosts(struct store_view *view, struct arena *arena,
				   struct store_host **ret_hosts, size_t *ret_count)
{
	return view->operations->list_hosts(view, arena, ret_hosts, ret_count);
}

/* Returns 1 if found, 0 if unknown. */
static inline int store_find_executable(struct store_view *view,
					const struct executable_id *identity, struct arena *arena,
					struct store_executable *ret_executable)
{
	return view->operations->find_executable(view, identity, arena, ret_executable);
}

/*
 * The next three serve messages about data that was not found. Their cost and their results are
 * bounded, whatever the size of the store. -EOPNOTSUPP: the engine does not implement them.
 *
 * The first lists names of processes of any time, sorted, at most @max. It may leave out processes
 * without samples. It also steps over names of other tenants, so that with very many of these the
 * list is incomplete.
 */
static inline int store_list_services(struct store_view *view, size_t max, struct arena *arena,
				      struct store_service **ret_services, size_t *ret_count)
{
	if (!view->operations->list_services)
		return -EOPNOTSUPP;
	return view->operations->list_services(view, max, arena, ret_services, ret_count);
}

/*
 * Counts the hosts and processes of all services of the tenant with samples in the range of @query,
 * which names no service and no type. Processes without stacks do not count. *ret_services is in
 * @arena, in any order. Needs memory for numbers of each series only. -EOPNOTSUPP: the engine does
 * not implement it.
 */
static inline int store_active_services(struct store_view *view,
					const struct store_series_query *query, struct arena *arena,
					struct store_active_service **ret_services,
					size_t *ret_count)
{
	if (!view->operations->active_services)
		return -EOPNOTSUPP;
	return view->operations->active_services(view, query, arena, ret_services, ret_count);
}

/*
 * Finds the last slot with a sample of @type, of @service or (NULL) of all services. Looks at the
 * latest thousands of series. Returns 1 if found, 0 if there is none.
 */
static inline int store_last_slot(struct store_view *view, const char *service,
				  enum event_type type, uint64_t *ret_slot)
{
	if (!view->operations->last_slot)
		return -EOPNOTSUPP;
	return view->operations->last_slot(view, service, type, ret_slot);
}

/*
 * Retention has removed the samples before *ret_slot. 1, or 0: it has removed none. Engines may
 * lack the operation, and return 0.
 */
static inline int store_removed_until(struct store_view *view, uint64_t *ret_slot,
				      enum store_removal *ret_reason)
{
	if (!view->operations->removed_until)
		return 0;
	return view->operations->removed_until(view, ret_slot, ret_reason);
}

/* Names of labels of processes of any time, sorted: at most @max that are not less than @from. */
static inline int store_list_label_names(struct store_view *view, const char *from, size_t max,
					 struct arena *arena, const char ***ret_names,
					 size_t *ret_count)
{
	if (!view->operations->list_label_names)
		return -EOPNOTSUPP;
	return view->operations->list_label_names(view, from, max, arena, ret_names, ret_count);
}

static inline struct store_view *store_view_close(struct store_view *view)
{
	return view ? view->operations->close(view) : NULL;
}

DEFINE_SCOPED(struct store_view *, store_view_close);
