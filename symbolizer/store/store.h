/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The sample store: the interface that storage engines implement (store/sqlite/).
 *
 * An engine gives hosts, processes, executables, stacks and series small integer IDs, which it
 * keeps for ever, and stores samples as (series, stack, slot) -> value. It never evaluates a user's
 * filter: a scan gets series IDs. All functions are thread-safe. Errors are negative errno. After
 * -ENOSPC or -EIO, data accepted earlier is intact.
 *
 * The identity of a stack is XXH3-128 over its frames, leaf first, and the u8 cut reason. Each
 * frame is {u8 frame kind, u8 kind of the object's ID, u8 size of the ID, the bytes of the ID, u64
 * little-endian address}. The ID of a code object has kind STORE_CODE_OBJECT_ID and is the hash of
 * its content. The engine computes identities; a client cannot choose one. Executables, code
 * objects, named frames, event types and stacks belong to a tenant: equal identities of two tenants
 * have different IDs.
 */

#include <stdlib.h>

#include "common/arena.h"
#include "common/bytes.h"
#include "common/cancel.h"
#include "common/memory_budget.h"
#include "symbolizer/store/batch.h"

struct store;

/* Kind of a code object's ID in the identity of a stack. Executables have executable_id.kind. */
#define STORE_CODE_OBJECT_ID 128

/*
 * Most event types of a tenant that are not in the table of common/event_type.h. The samples of
 * further ones are only counted.
 */
#define STORE_MAX_EVENT_TYPES 1024

/* Result of store_write(). */
enum store_outcome {
	STORE_STORED = 1,    /* the batch is durable */
	STORE_DUPLICATE = 2, /* (agent, epoch, sequence) was stored before: acknowledge it again */
	/* Nothing was stored; ret_missing lists the numbers that the agent must define. */
	STORE_NEEDS_NUMBERS = 3,
	STORE_TOO_OLD = 4, /* nothing was stored: the whole batch is older than the retention */
};

struct store_missing {
	/* in the caller's arena */
	uint32_t *stacks, *series, *processes, *executables, *code_objects;
	size_t n_stacks, n_series, n_processes, n_executables, n_code_objects;
};

struct store_host {
	uint32_t id;
	const char *name;
	const char *agent_id; /* hex */
	const char *kernel_release;
	const char *architecture;
	const char *agent_version;
	const char *boot_id;
	uint32_t n_cpus;
	const char **ips;
	uint32_t n_ips;
	struct label *labels;
	uint32_t n_labels;
	uint64_t first_seen_ns; /* wall */
	uint64_t last_seen_ns;
};

struct store_process {
	uint64_t id; /* a handle: opaque, valid within a query */
	const struct store_host *host;
	const char *name; /* app_service */
	const char *executable_path;
	uint32_t pid;
	uint64_t start_time_ns;
	uint32_t main_executable; /* store id, 0 unknown */
	/* Handle: processes with the same one map all files from the same paths. 0 unknown. */
	uint64_t path_set;
	bool kernel_thread;
	bool without_stacks;
	struct label *labels;
	uint32_t n_labels;
};

struct store_series {
	uint64_t id; /* a handle: opaque, valid within a query */
	const char *tenant;
	const struct store_process *process;
	uint32_t tid;
	const char *thread_name;
	enum event_type type;
	int cpu; /* -1 */
	uint64_t period_ns;
	const struct event_type_info *event; /* of @type; NULL: see store_series_event() */
	struct label *labels;                /* sorted by name */
	uint32_t n_labels;
	uint64_t first_slot, last_slot; /* of its samples on the days that the query overlaps */
};

struct store_frame {
	uint8_t kind;    /* enum frame_kind, or a number that this version does not know */
	uint32_t object; /* store id of an executable, or FRAME_CODE_OBJECT | store id; 0 none */
	uint64_t address;
};

/* Texts that are not known are "". */
struct store_code_object {
	uint32_t id; /* without FRAME_CODE_OBJECT */
	const char *language;
	const char *function;
	const char *qualified_name;
	const char *file;
	uint32_t first_line; /* 0 unknown */
	struct bytes_view line_table;
};

struct store_stack {
	uint8_t cut;
	uint32_t n_frames;                /* 0 also for an unknown ID */
	const struct store_frame *frames; /* leaf first */
};

struct store_executable {
	uint32_t id;
	struct executable_id identity;
	const char *name;
	enum executable_role role;
	const struct load_segment *segments;
	uint32_t n_segments;
};

/* Selects series. Fields that are zero or NULL do not restrict the result. */
struct store_series_query {
	const char *tenant;   /* required */
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
	const struct cancel *cancel; /* ends the scan with -ECANCELED; NULL: it runs to the end */
};

/* @series_index is an index into the IDs of store_scan(). A result < 0 ends the scan with it. */
typedef int (*store_row_function)(void *arg, uint32_t series_index, uint64_t stack_id,
				  uint64_t slot, uint64_t value);

/* How several rows with the same group and stack become one value. */
enum store_sum_policy {
	STORE_SUM_ADD,  /* their values are added */
	STORE_SUM_LAST, /* the rows of the newest slot are added, older rows do not count */
};

/* A series of a sum. */
struct store_sum_series {
	uint64_t id;
	uint64_t factor; /* its values are multiplied by it: a period, or 1 */
	uint32_t group;  /* the caller's number */
	bool marked;     /* its values are also added to store_sums.marked_value */
};

/* Most items of a sum, 32 bytes each. A day of a busy fleet has several hundred thousand. */
#define STORE_SUM_MAX_ITEMS (8u << 20)

struct store_sum_query {
	const struct store_sum_series *series; /* [n_series] ascending by ID */
	size_t n_series;
	uint64_t from_slot, to_slot; /* rows with from_slot <= slot < to_slot */
	enum store_sum_policy policy;
	bool without_stacks;         /* one item a group, with stack 0 */
	bool last_slots;             /* fill last_slot with STORE_SUM_ADD too */
	size_t max_items;            /* 0: STORE_SUM_MAX_ITEMS */
	const struct cancel *cancel; /* ends the sum with -ECANCELED; NULL: it runs to the end */
	/* The items are taken from it until store_sums_release(): -ENOMEM if it refuses. NULL: no
	 * limit but max_items. */
	struct memory_budget *memory;
};

/* The stack ID of values of stacks that have no item, because there are too many. */
#define STORE_OTHER_STACKS UINT64_MAX

struct store_sum {
	uint64_t stack;
	uint64_t value;     /* UINT64_MAX also for larger values */
	uint64_t last_slot; /* the newest slot of the rows; 0 if it was not asked for */
	uint32_t group;
};

struct store_sums {
	struct store_sum *items; /* [count] in any order; store_sums_release() frees them */
	size_t count;
	uint64_t n_rows; /* that were added; 0: the engine does not count rows */
	uint64_t marked_value;
	uint64_t n_damaged_blocks; /* of the series' hosts, which were skipped */
	struct memory_budget *memory;
	uint64_t taken_bytes; /* of the budget */
};

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

/* A name of processes of the tenant. */
struct store_service {
	const char *name;
	bool without_stacks; /* of the first process found with that name */
};

/* A service with samples of one event type in a time range. */
struct store_active_service {
	const char *name;
	enum event_type type;
	uint64_t first_slot, last_slot; /* of its series on the days that the query overlaps */
	uint32_t n_hosts, n_processes;
	const struct event_type_info *event; /* of @type */
};

struct store_stats {
	uint64_t n_too_old_batches; /* refused with STORE_TOO_OLD since the start */
	uint64_t n_batches, n_rows, n_stacks, n_series, n_processes, disk_bytes;
};

struct store_operations {
	int (*write)(struct store *store, const char *tenant, const struct batch *batch,
		     struct arena *arena, struct store_missing *ret_missing);
	int (*find_series)(struct store *store, const struct store_series_query *query,
			   struct arena *arena, struct store_series **ret_series,
			   size_t *ret_count);
	int (*sum)(struct store *store, const struct store_sum_query *query,
		   struct store_sums *ret_sums);
	int (*scan)(struct store *store, const struct store_range *range,
		    store_row_function function, void *arg);
	int (*scan_coverage)(struct store *store, const uint32_t *hosts, size_t count,
			     uint64_t from_slot, uint64_t to_slot, store_coverage_function function,
			     void *arg);
	int (*scan_counters)(struct store *store, const struct store_counter_query *query,
			     store_counters_function function, void *arg);
	int (*load_stacks)(struct store *store, const uint64_t *stack_ids, size_t count,
			   struct arena *arena, struct store_stack *ret_stacks);
	int (*load_executables)(struct store *store, const uint32_t *ids, size_t count,
				struct arena *arena, struct store_executable *ret_executables);
	int (*load_code_objects)(struct store *store, const uint32_t *ids, size_t count,
				 struct arena *arena, struct store_code_object *ret_objects);
	int (*find_event_type)(struct store *store, const char *tenant, const char *name,
			       struct arena *arena, struct event_type_info *ret_info);
	int (*path_of)(struct store *store, uint64_t process, uint32_t executable,
		       struct arena *arena, const char **ret_path);
	int (*named_frame)(struct store *store, uint64_t address, struct arena *arena,
			   const char **ret_name);
	int (*list_hosts)(struct store *store, const char *tenant, struct arena *arena,
			  struct store_host **ret_hosts, size_t *ret_count);
	int (*find_executable)(struct store *store, const char *tenant,
			       const struct executable_id *identity, struct arena *arena,
			       struct store_executable *ret_executable);
	int (*agent_executables)(struct store *store, const char *tenant,
				 const struct hash128 *agent, uint64_t epoch, size_t max,
				 struct arena *arena, struct store_executable **ret_executables,
				 size_t *ret_count);
	int (*list_services)(struct store *store, const char *tenant, size_t max,
			     struct arena *arena, struct store_service **ret_services,
			     size_t *ret_count);
	int (*active_services)(struct store *store, const struct store_series_query *query,
			       struct arena *arena, struct store_active_service **ret_services,
			       size_t *ret_count);
	int (*last_slot)(struct store *store, const char *tenant, const char *service,
			 enum event_type type, uint64_t *ret_slot);
	int (*list_label_names)(struct store *store, const char *tenant, const char *from,
				size_t max, struct arena *arena, const char ***ret_names,
				size_t *ret_count);
	void (*set_retention)(struct store *store, uint64_t retention_ns);
	int (*check)(struct store *store);
	int (*stats)(struct store *store, struct store_stats *ret_stats);
	struct store *(*free)(struct store *store);
};

/* The first field of an engine's store. */
struct store {
	const struct store_operations *operations;
};

/* Returns enum store_outcome or negative errno. The arrays of ret_missing are in @arena. */
static inline int store_write(struct store *store, const char *tenant, const struct batch *batch,
			      struct arena *arena, struct store_missing *ret_missing)
{
	return store->operations->write(store, tenant, batch, arena, ret_missing);
}

/* ret_series[*ret_count] is in @arena, ascending by ID. Series share processes and hosts. */
static inline int store_find_series(struct store *store, const struct store_series_query *query,
				    struct arena *arena, struct store_series **ret_series,
				    size_t *ret_count)
{
	return store->operations->find_series(store, query, arena, ret_series, ret_count);
}

/*
 * Sums the rows of series per (group, stack). The engine does the whole work, so that no row leaves
 * it. Beyond max_items, the values of further stacks are summed per group in an item with the stack
 * STORE_OTHER_STACKS, so that the sum of all items is always complete. Returns 0 or negative errno.
 */
static inline int store_sum(struct store *store, const struct store_sum_query *query,
			    struct store_sums *ret_sums)
{
	return store->operations->sum(store, query, ret_sums);
}

static inline void store_sums_release(struct store_sums *sums)
{
	free(sums->items);
	memory_budget_give(sums->memory, sums->taken_bytes);
	*sums = (struct store_sums){};
}

/*
 * For checks of an engine; queries use store_sum().
 * Calls @function for every row of @range, in any order. @function must not call the store: the
 * scan holds one of few readers, and would wait for itself. Returns the number of damaged blocks
 * of the series' hosts that were skipped, at most INT_MAX.
 */
static inline int store_scan(struct store *store, const struct store_range *range,
			     store_row_function function, void *arg)
{
	return store->operations->scan(store, range, function, arg);
}

/*
 * Calls @function for every batch of these hosts (IDs) that covers a part of [from_slot, to_slot),
 * in any order. Times are not clipped to the range. Batches of an idle host count too. @function
 * must not call the store. -EOPNOTSUPP: the engine does not implement it.
 */
static inline int store_scan_coverage(struct store *store, const uint32_t *hosts, size_t count,
				      uint64_t from_slot, uint64_t to_slot,
				      store_coverage_function function, void *arg)
{
	if (!store->operations->scan_coverage)
		return -EOPNOTSUPP;
	return store->operations->scan_coverage(store, hosts, count, from_slot, to_slot, function,
						arg);
}

/*
 * Calls @function for each batch, day by day with the newest day first. @function must not call the
 * store. Damaged counters are skipped. -EOPNOTSUPP: the engine does not implement it.
 */
static inline int store_scan_counters(struct store *store, const struct store_counter_query *query,
				      store_counters_function function, void *arg)
{
	if (!store->operations->scan_counters)
		return -EOPNOTSUPP;
	return store->operations->scan_counters(store, query, function, arg);
}

/* Fills ret_stacks[count]. Stack ID 0 (counted without a stack) and unknown IDs have no frames. */
static inline int store_load_stacks(struct store *store, const uint64_t *stack_ids, size_t count,
				    struct arena *arena, struct store_stack *ret_stacks)
{
	return store->operations->load_stacks(store, stack_ids, count, arena, ret_stacks);
}

/* Fills ret_executables[count]. ID 0 and unknown IDs have an identity of kind NONE. */
static inline int store_load_executables(struct store *store, const uint32_t *ids, size_t count,
					 struct arena *arena,
					 struct store_executable *ret_executables)
{
	return store->operations->load_executables(store, ids, count, arena, ret_executables);
}

/*
 * Fills ret_objects[count]. Unknown IDs have ID 0 and no texts. -EOPNOTSUPP: the engine does not
 * implement it.
 */
static inline int store_load_code_objects(struct store *store, const uint32_t *ids, size_t count,
					  struct arena *arena,
					  struct store_code_object *ret_objects)
{
	if (!store->operations->load_code_objects)
		return -EOPNOTSUPP;
	return store->operations->load_code_objects(store, ids, count, arena, ret_objects);
}

/* Finds the event type of this name. Returns 1 if found, 0 if the tenant has no such type. */
static inline int store_find_event_type(struct store *store, const char *tenant, const char *name,
					struct arena *arena, struct event_type_info *ret_info)
{
	const struct event_type_info *known = event_type_info(event_type_from_name(name));

	if (known) {
		*ret_info = *known;
		return 1;
	}
	if (!store->operations->find_event_type)
		return 0;
	return store->operations->find_event_type(store, tenant, name, arena, ret_info);
}

/* Name, unit and kind of the series' event type. */
static inline const struct event_type_info *store_series_event(const struct store_series *series)
{
	return series->event ? series->event : event_type_info(series->type);
}

/*
 * Finds the path from which @process maps @executable. @process 0: the path in any of the latest
 * thousands of processes. Returns 1 if found, 0 if unknown.
 */
static inline int store_path_of(struct store *store, uint64_t process, uint32_t executable,
				struct arena *arena, const char **ret_path)
{
	return store->operations->path_of(store, process, executable, arena, ret_path);
}

/*
 * Finds the name of a KERNEL_NAMED frame, which batches of format 1 have. @address is that of the
 * store_frame. Returns 1 if found, 0 if unknown.
 */
static inline int store_named_frame(struct store *store, uint64_t address, struct arena *arena,
				    const char **ret_name)
{
	return store->operations->named_frame(store, address, arena, ret_name);
}

static inline int store_list_hosts(struct store *store, const char *tenant, struct arena *arena,
				   struct store_host **ret_hosts, size_t *ret_count)
{
	return store->operations->list_hosts(store, tenant, arena, ret_hosts, ret_count);
}

/* Returns 1 if found, 0 if unknown. */
static inline int store_find_executable(struct store *store, const char *tenant,
					const struct executable_id *identity, struct arena *arena,
					struct store_executable *ret_executable)
{
	return store->operations->find_executable(store, tenant, identity, arena, ret_executable);
}

/* Lists the last @max executables that the agent defined in @epoch, the newest first. */
static inline int store_agent_executables(struct store *store, const char *tenant,
					  const struct hash128 *agent, uint64_t epoch, size_t max,
					  struct arena *arena,
					  struct store_executable **ret_executables,
					  size_t *ret_count)
{
	return store->operations->agent_executables(store, tenant, agent, epoch, max, arena,
						    ret_executables, ret_count);
}

/*
 * The next three serve messages about data that was not found. Their cost and their results are
 * bounded, whatever the size of the store. -EOPNOTSUPP: the engine does not implement them.
 *
 * The first lists names of processes of any time, sorted, at most @max. It also steps over names
 * of other tenants, so that with very many of these the list is incomplete.
 */
static inline int store_list_services(struct store *store, const char *tenant, size_t max,
				      struct arena *arena, struct store_service **ret_services,
				      size_t *ret_count)
{
	if (!store->operations->list_services)
		return -EOPNOTSUPP;
	return store->operations->list_services(store, tenant, max, arena, ret_services, ret_count);
}

/*
 * Counts the hosts and processes of all services of the tenant with samples in the range of @query,
 * which names no service and no type. Processes without stacks do not count. *ret_services is in
 * @arena, in any order. Needs memory for numbers of each series only. -EOPNOTSUPP: the engine does
 * not implement it.
 */
static inline int store_active_services(struct store *store, const struct store_series_query *query,
					struct arena *arena,
					struct store_active_service **ret_services,
					size_t *ret_count)
{
	if (!store->operations->active_services)
		return -EOPNOTSUPP;
	return store->operations->active_services(store, query, arena, ret_services, ret_count);
}

/*
 * Finds the last slot with a sample of @type, of @service or (NULL) of all services. Looks at the
 * latest thousands of series. Returns 1 if found, 0 if there is none.
 */
static inline int store_last_slot(struct store *store, const char *tenant, const char *service,
				  enum event_type type, uint64_t *ret_slot)
{
	if (!store->operations->last_slot)
		return -EOPNOTSUPP;
	return store->operations->last_slot(store, tenant, service, type, ret_slot);
}

/* Names of labels of processes of any time, sorted: at most @max that are not less than @from. */
static inline int store_list_label_names(struct store *store, const char *tenant, const char *from,
					 size_t max, struct arena *arena, const char ***ret_names,
					 size_t *ret_count)
{
	if (!store->operations->list_label_names)
		return -EOPNOTSUPP;
	return store->operations->list_label_names(store, tenant, from, max, arena, ret_names,
						   ret_count);
}

/* Older batches are refused from now on (STORE_TOO_OLD). 0, the default: none. */
static inline void store_set_retention(struct store *store, uint64_t retention_ns)
{
	if (store->operations->set_retention)
		store->operations->set_retention(store, retention_ns);
}

/*
 * Returns 0 if a write would succeed now, else the errno of the failure (-ENOSPC, -EROFS, ...). For
 * /readyz.
 */
static inline int store_check(struct store *store)
{
	return store->operations->check(store);
}

static inline int store_stats(struct store *store, struct store_stats *ret_stats)
{
	return store->operations->stats(store, ret_stats);
}

static inline struct store *store_free(struct store *store)
{
	return store ? store->operations->free(store) : NULL;
}

DEFINE_SCOPED(struct store *, store_free);
