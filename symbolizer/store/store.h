/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The sample store: one interface, several engines (SQLite here; ClickHouse later).
 *
 * An engine keeps what lasts (hosts, processes, executables, stacks, series) under small integer
 * ids of its own and samples as (series, stack, slot) -> value. It never sees a user's text:
 * queries arrive as series ids. All functions are thread-safe. Errors are negative errno; -ENOSPC
 * and -EIO leave what was accepted before intact.
 *
 * Identity of a stack: XXH3-128 over its frames, leaf first, each {u8 kind, u8 length and bytes of
 * the executable's identity (kind byte included in the bytes' place: u8 id kind, u8 size, bytes),
 * u64 little-endian address}, then the u8 cut reason. Computed here, never taken from a client.
 * Executables, named frames and stacks are a tenant's own: equal identities of two tenants have
 * different ids.
 */

#include "common/arena.h"
#include "common/bytes.h"
#include "symbolizer/store/batch.h"

struct store;

/* What became of a batch. */
enum store_outcome {
	STORE_STORED = 1,    /* durable now */
	STORE_DUPLICATE = 2, /* (agent, epoch, sequence) was stored before: acknowledge again */
	STORE_NEEDS_NUMBERS =
		3,         /* nothing stored; ret_missing lists the numbers that must be defined */
	STORE_TOO_OLD = 4, /* nothing stored: all of it is beyond the retention */
};

struct store_missing {
	uint32_t *stacks, *series, *processes, *executables; /* in the caller's arena */
	size_t n_stacks, n_series, n_processes, n_executables;
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
	uint32_t id;
	const struct store_host *host;
	const char *name; /* app_service */
	const char *executable_path;
	uint32_t pid;
	uint64_t start_time_ns;
	uint32_t main_executable; /* store id, 0 unknown */
	bool kernel_thread;
	bool without_stacks;
	struct label *labels;
	uint32_t n_labels;
};

struct store_series {
	uint32_t id;
	const char *tenant;
	const struct store_process *process;
	uint32_t tid;
	const char *thread_name;
	enum event_type type;
	int cpu; /* -1 */
	uint64_t period_ns;
	uint64_t first_slot; /* of its samples on the days that the query touches */
	uint64_t last_slot;
};

struct store_frame {
	uint8_t kind;
	uint32_t executable; /* store id, 0 none */
	uint64_t address;
};

struct store_stack {
	uint8_t cut;
	uint32_t n_frames;                /* 0 also for an id that is not known */
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

/* Selects series; zero or NULL fields do not restrict. */
struct store_series_query {
	const char *tenant;   /* required */
	enum event_type type; /* EVENT_NONE: all */
	const char *service;  /* process name */
	uint64_t from_slot; /* series with samples in [from_slot, to_slot) only; to_slot 0: no limit
			     */
	uint64_t to_slot;
};

/* Return < 0 to stop the scan with that error. @series_index indexes the ids given to store_scan().
 */
typedef int (*store_row_function)(void *arg, uint32_t series_index, uint64_t stack_id,
				  uint64_t slot, uint64_t value);

/* Time that one batch covers: the agent of @host ran from @first_slot to @last_slot. Return < 0 to
 * stop with that error. */
typedef int (*store_coverage_function)(void *arg, uint32_t host, uint64_t first_slot,
				       uint64_t last_slot);

/* Selects the newest batches that lie wholly in [from_slot, to_slot). */
struct store_counter_query {
	const uint32_t
		*hosts; /* [n_hosts], store ids; of the boots of a machine the newest first */
	size_t n_hosts;
	uint64_t from_slot, to_slot;
	size_t max_batches; /* of all hosts together */
};

/* Return < 0 to stop with that error. @name is valid during the call only. */
typedef int (*store_counter_function)(void *arg, struct bytes_view name, uint64_t value);

/* Receives what an agent counted between the opening and the closing of one batch: first the
 * batch's times, then each counter. */
struct store_counter_visitor {
	int (*batch)(void *arg, uint64_t opened_wall_ns, uint64_t closed_wall_ns);
	store_counter_function counter;
	void *arg;
};

/* A name that processes of the tenant go by. */
struct store_service {
	const char *name;
	bool without_stacks; /* by the first process of that name that was found */
};

struct store_stats {
	uint64_t n_too_old_batches; /* refused since the start */
	uint64_t n_batches, n_rows, n_stacks, n_series, n_processes, disk_bytes;
};

struct store_operations {
	int (*write)(struct store *store, const char *tenant, const struct batch *batch,
		     struct arena *arena, struct store_missing *ret_missing);
	int (*find_series)(struct store *store, const struct store_series_query *query,
			   struct arena *arena, struct store_series **ret_series,
			   size_t *ret_count);
	int (*scan)(struct store *store, const uint32_t *series_ids, size_t count,
		    uint64_t from_slot, uint64_t to_slot, store_row_function function, void *arg);
	int (*scan_coverage)(struct store *store, const uint32_t *hosts, size_t count,
			     uint64_t from_slot, uint64_t to_slot, store_coverage_function function,
			     void *arg);
	int (*scan_counters)(struct store *store, const struct store_counter_query *query,
			     const struct store_counter_visitor *visitor);
	int (*load_stacks)(struct store *store, const uint64_t *stack_ids, size_t count,
			   struct arena *arena, struct store_stack *ret_stacks);
	int (*load_executables)(struct store *store, const uint32_t *ids, size_t count,
				struct arena *arena, struct store_executable *ret_executables);
	int (*path_of)(struct store *store, uint32_t process, uint32_t executable,
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

/* Engines embed this first. */
struct store {
	const struct store_operations *operations;
};

/* enum store_outcome or negative errno. @arena only holds ret_missing's arrays. */
static inline int store_write(struct store *store, const char *tenant, const struct batch *batch,
			      struct arena *arena, struct store_missing *ret_missing)
{
	return store->operations->write(store, tenant, batch, arena, ret_missing);
}

/* ret_series[0..*ret_count) in @arena, in order of id; processes and hosts are shared between them.
 */
static inline int store_find_series(struct store *store, const struct store_series_query *query,
				    struct arena *arena, struct store_series **ret_series,
				    size_t *ret_count)
{
	return store->operations->find_series(store, query, arena, ret_series, ret_count);
}

/*
 * 0, or how many damaged blocks (INT_MAX at most) of the series' hosts were left out.
 *
 * Calls @function for every row of the series (ids ascending) with from_slot <= slot < to_slot, in
 * no order. The function must not call the store: the scan holds one of few readers, and it could
 * wait for itself.
 */
static inline int store_scan(struct store *store, const uint32_t *series_ids, size_t count,
			     uint64_t from_slot, uint64_t to_slot, store_row_function function,
			     void *arg)
{
	return store->operations->scan(store, series_ids, count, from_slot, to_slot, function, arg);
}

/*
 * Calls @function for every batch of these hosts (store ids) that covers a part of [from_slot,
 * to_slot), in no order; times are not cut to the range. A host that was idle is covered too. The
 * function must not call the store. May be missing in an engine: -EOPNOTSUPP.
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
 * Visits batches and their counters, the newest first: day by day, within a day host by host in the
 * query's order, and of each host run by run of its agent. The functions must not call the store.
 * May be missing in an engine: -EOPNOTSUPP.
 */
static inline int store_scan_counters(struct store *store, const struct store_counter_query *query,
				      const struct store_counter_visitor *visitor)
{
	if (!store->operations->scan_counters)
		return -EOPNOTSUPP;
	return store->operations->scan_counters(store, query, visitor);
}

/* Fills ret_stacks[count]. Stack id 0 ("only counted") and unknown ids give no frames. */
static inline int store_load_stacks(struct store *store, const uint64_t *stack_ids, size_t count,
				    struct arena *arena, struct store_stack *ret_stacks)
{
	return store->operations->load_stacks(store, stack_ids, count, arena, ret_stacks);
}

/* Fills ret_executables[count]; id 0 and unknown ids give an identity of kind NONE. */
static inline int store_load_executables(struct store *store, const uint32_t *ids, size_t count,
					 struct arena *arena,
					 struct store_executable *ret_executables)
{
	return store->operations->load_executables(store, ids, count, arena, ret_executables);
}

/* Where @process, or (0) one of the latest thousands, maps @executable from; 1 found, 0 not known.
 */
static inline int store_path_of(struct store *store, uint32_t process, uint32_t executable,
				struct arena *arena, const char **ret_path)
{
	return store->operations->path_of(store, process, executable, arena, ret_path);
}

/* The name behind a KERNEL_NAMED frame, by the address that the frame has in a store_stack; 1
 * found, 0 not known. */
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

/* 1 found, 0 not known. */
static inline int store_find_executable(struct store *store, const char *tenant,
					const struct executable_id *identity, struct arena *arena,
					struct store_executable *ret_executable)
{
	return store->operations->find_executable(store, tenant, identity, arena, ret_executable);
}

/* The last @max executables that a run of an agent has defined, the newest first. */
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
 * For messages to people: the cost is bounded, whatever the store holds, and so is the answer. All
 * three may be missing in an engine: -EOPNOTSUPP.
 *
 * Names of processes of any time, at most @max, in order. Those of other tenants cost time too:
 * with very many of them the list ends early.
 */
static inline int store_list_services(struct store *store, const char *tenant, size_t max,
				      struct arena *arena, struct store_service **ret_services,
				      size_t *ret_count)
{
	if (!store->operations->list_services)
		return -EOPNOTSUPP;
	return store->operations->list_services(store, tenant, max, arena, ret_services, ret_count);
}

/* The last slot with a sample of @type, of @service or (NULL) of all, as far as its latest
 * thousands of series tell; 1 found, 0 none is kept. */
static inline int store_last_slot(struct store *store, const char *tenant, const char *service,
				  enum event_type type, uint64_t *ret_slot)
{
	if (!store->operations->last_slot)
		return -EOPNOTSUPP;
	return store->operations->last_slot(store, tenant, service, type, ret_slot);
}

/* Names of labels of processes, of any time: at most @max of those that are not before @from. */
static inline int store_list_label_names(struct store *store, const char *tenant, const char *from,
					 size_t max, struct arena *arena, const char ***ret_names,
					 size_t *ret_count)
{
	if (!store->operations->list_label_names)
		return -EOPNOTSUPP;
	return store->operations->list_label_names(store, tenant, from, max, arena, ret_names,
						   ret_count);
}

/* From now on batches that lie wholly before it are refused (STORE_TOO_OLD); 0: none, as at first.
 */
static inline void store_set_retention(struct store *store, uint64_t retention_ns)
{
	if (store->operations->set_retention)
		store->operations->set_retention(store, retention_ns);
}

/* Whether writes would succeed right now: 0, or the errno (-ENOSPC, -EROFS, ...). For /readyz. */
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
