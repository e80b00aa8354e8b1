/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The state of the engine, for the files of this folder. */

#include <pthread.h>
#include <stdatomic.h>

#include "symbolizer/store/clickhouse/client_pool.h"
#include "symbolizer/store/clickhouse/clickhouse_store.h"
#include "symbolizer/store/clickhouse/schema.h"
#include "symbolizer/store/clickhouse/writer.h"
#include "symbolizer/store/data_folder/trusted_clock.h"
#include "symbolizer/store/write_queue.h"

struct clickhouse_store {
	struct store store;
	struct client_pool *pool;
	char *folder, *database, *cluster_name;
	struct clickhouse_cluster cluster; /* no name: one server */
	const struct clock *clock;
	bool has_in_process;
	struct clickhouse_client *write_client; /* of the queue's thread */
	struct clickhouse_writer *writer;
	struct write_queue *queue;

	pthread_mutex_t schema_lock; /* while the tables are created */
	atomic_bool has_tables;
	bool was_absent; /* logged; under schema_lock */

	pthread_mutex_t lock; /* of the fields below */
	struct trusted_clock trusted;
	int last_read_error; /* logged */
	int last_write_error;
	uint64_t last_write_ns; /* monotonic */

	_Atomic uint64_t retention_ns, max_bytes;             /* 0: no limit */
	_Atomic uint64_t first_day_by_age, first_day_by_size; /* removed before it; 0: none */
	_Atomic uint64_t n_batches, n_rows, n_too_old;
	_Atomic uint64_t n_removed_by_age, n_removed_by_size; /* days */
};

static inline struct clickhouse_store *clickhouse_store_of(struct store *store)
{
	return container_of(store, struct clickhouse_store, store);
}

/* NULL: one server. */
static inline const struct clickhouse_cluster *
clickhouse_store_cluster(const struct clickhouse_store *self)
{
	return self->cluster.name ? &self->cluster : NULL;
}

/* Creates the tables if this was not done yet. 0 or an error of @client. */
int clickhouse_store_prepare(struct clickhouse_store *self, struct clickhouse_client *client);

/* Runs a query with a client of the pool. Logs when queries begin to fail, and to succeed again. */
int clickhouse_store_read(struct clickhouse_store *self, const struct clickhouse_query *query);

/* view.c: the operation open_view. */
int clickhouse_store_open_view(struct store *store, const struct store_view_options *options,
			       struct store_view **ret_view);

/* retention.c: the operation retain, and that of views. */
int clickhouse_store_retain(struct store *store, size_t *ret_removed);
int clickhouse_store_removed_until(struct clickhouse_store *self, uint64_t *ret_slot,
				   enum store_removal *ret_reason);
int clickhouse_store_disk_bytes(struct clickhouse_store *self, uint64_t *ret_bytes);

/* agent_executables.c: the operation. */
int clickhouse_store_agent_executables(struct store *store, const char *tenant,
				       const struct hash128 *agent, uint64_t epoch, size_t max,
				       struct arena *arena,
				       struct store_executable **ret_executables,
				       size_t *ret_count);
