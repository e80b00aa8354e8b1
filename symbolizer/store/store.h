/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The sample store: the interface that storage engines implement (store/sqlite/). This file writes
 * and manages; store_view.h reads.
 *
 * An engine stores samples as (series, stack, slot) -> value. It never evaluates a user's filter: a
 * sum gets the IDs of series. All functions of this file are thread-safe. Errors are negative
 * errno. After -ENOSPC or -EIO, data accepted earlier is intact.
 *
 * The identity of a stack is XXH3-128 over its frames, leaf first, and the u8 cut reason. Each
 * frame is {u8 frame kind, u8 kind of the object's ID, u8 size of the ID, the bytes of the ID, u64
 * little-endian address}. The ID of a code object has kind STORE_CODE_OBJECT_ID and is the hash of
 * its content. The engine computes identities; a client cannot choose one. Executables, code
 * objects, named frames, event types and stacks belong to a tenant: equal identities of two tenants
 * have different IDs.
 */

#include "symbolizer/store/store_view.h"

/* Kind of a code object's ID in the identity of a stack. Executables have executable_id.kind. */
#define STORE_CODE_OBJECT_ID 128

/*
 * Most event types of a tenant that are not in the table of common/event_type.h, in an engine that
 * keeps a table of them. The samples of further ones are only counted.
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

/* Engines may leave out what they do not count, as 0, and count from their start only. */
struct store_stats {
	uint64_t n_too_old_batches; /* refused with STORE_TOO_OLD since the start */
	uint64_t n_refused_series;  /* definitions since the start: too many event types */
	/* Days that retention removed since the start. */
	uint64_t n_days_removed_by_age, n_days_removed_by_size;
	uint64_t n_batches, n_rows, n_stacks, n_series, n_processes, disk_bytes;
};

struct store_operations {
	int (*write)(struct store *store, const char *tenant, const struct batch *batch,
		     struct arena *arena, struct store_missing *ret_missing);
	int (*open_view)(struct store *store, const struct store_view_options *options,
			 struct store_view **ret_view);
	int (*agent_executables)(struct store *store, const char *tenant,
				 const struct hash128 *agent, uint64_t epoch, size_t max,
				 struct arena *arena, struct store_executable **ret_executables,
				 size_t *ret_count);
	void (*set_retention)(struct store *store, uint64_t retention_ns);
	void (*set_hourly_retention)(struct store *store, uint64_t retention_ns);
	void (*set_max_bytes)(struct store *store, uint64_t max_bytes);
	int (*retain)(struct store *store, size_t *ret_removed);
	int (*check)(struct store *store);
	int (*stats)(struct store *store, struct store_stats *ret_stats);
	int (*delete_service)(struct store *store, const char *tenant, const char *service);
	int (*verify)(struct store *store, size_t *ret_faults);
	struct store *(*free)(struct store *store);
};

/* The first field of an engine's store. */
struct store {
	const struct store_operations *operations;
};

/*
 * Returns enum store_outcome or negative errno. -EDQUOT: the agent has defined more new stacks than
 * an hour allows; nothing was stored, and a later attempt succeeds. The arrays of ret_missing are
 * in @arena.
 */
static inline int store_write(struct store *store, const char *tenant, const struct batch *batch,
			      struct arena *arena, struct store_missing *ret_missing)
{
	return store->operations->write(store, tenant, batch, arena, ret_missing);
}

/*
 * Opens a view for one request. Borrows the options' pointers. The view must be closed before the
 * store is freed. Returns 0 or negative errno.
 */
static inline int store_view_open(struct store *store, const struct store_view_options *options,
				  struct store_view **ret_view)
{
	return store->operations->open_view(store, options, ret_view);
}

/*
 * Lists the last @max executables with an identity that the agent defined in @epoch, the newest
 * first. For ingest, which keeps their identities. Their IDs are 0, because IDs belong to views.
 */
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
 * How long samples are kept. Older batches are refused from now on (STORE_TOO_OLD). 0, the default:
 * no limit.
 */
static inline void store_set_retention(struct store *store, uint64_t retention_ns)
{
	if (store->operations->set_retention)
		store->operations->set_retention(store, retention_ns);
}

/*
 * How long the sums of hours are kept after their samples were removed, if that is longer. Batches
 * that are as old are still stored then. 0, the default: as long as samples. Engines may lack the
 * operation.
 */
static inline void store_set_hourly_retention(struct store *store, uint64_t retention_ns)
{
	if (store->operations->set_hourly_retention)
		store->operations->set_hourly_retention(store, retention_ns);
}

/*
 * Bounds the space of the store's files: retention removes the oldest samples until they fit, but
 * never the newest day. 0, the default: no limit.
 */
static inline void store_set_max_bytes(struct store *store, uint64_t max_bytes)
{
	if (store->operations->set_max_bytes)
		store->operations->set_max_bytes(store, max_bytes);
}

/*
 * Removes days by these limits, and logs them; *ret_removed is their number. Call it at least every
 * hour: it also remembers the time, so that a clock that is wrongly ahead removes nothing
 * (data_folder/trusted_clock.h). Engines may lack the operation.
 */
static inline int store_retain(struct store *store, size_t *ret_removed)
{
	*ret_removed = 0;
	return store->operations->retain ? store->operations->retain(store, ret_removed) : 0;
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

/*
 * Deletes all samples of a service that were stored before the call. 1 deleted, 0 there were none;
 * -EOPNOTSUPP: the engine cannot. After another error a part may be deleted: call it again.
 */
static inline int store_delete_service(struct store *store, const char *tenant, const char *service)
{
	if (!store->operations->delete_service)
		return -EOPNOTSUPP;
	return store->operations->delete_service(store, tenant, service);
}

/*
 * Reads all files, logs their faults, and returns the number of these. Writes and queries continue.
 * -EOPNOTSUPP: the engine cannot.
 */
static inline int store_verify(struct store *store, size_t *ret_faults)
{
	if (!store->operations->verify)
		return -EOPNOTSUPP;
	return store->operations->verify(store, ret_faults);
}

static inline struct store *store_free(struct store *store)
{
	return store ? store->operations->free(store) : NULL;
}

DEFINE_SCOPED(struct store *, store_free);
