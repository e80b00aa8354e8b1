/* SPDX-License-Identifier: Apache-2.0 */
/* Opening, and the operations that write and manage. */

#include "symbolizer/store/clickhouse/clickhouse_store_private.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/log.h"
#include "symbolizer/store/clickhouse/in_process_tables.h"

/*
 * Batches in one commit. ClickHouse wants few large INSERTs: one group a second has about ten of
 * them, one for each table.
 */
#define GROUP_MAX_BATCHES 4096
#define GROUP_MAX_BYTES   (256 * MIB)
#define GROUP_SPACING_NS  NSEC_PER_SEC

/* Rows of one table in a group. */
#define MAX_ROWS_BYTES (256 * MIB)

/* Definitions of one epoch of an agent in memory. A build host defines some 10 MiB an hour. */
#define MAX_NUMBERS_BYTES (64 * MIB)

/* Epochs with definitions in memory: a fleet of one server. */
#define MAX_AGENTS 4096

/* For the query of store_check(), which waits in /readyz. */
#define CHECK_TIMEOUT_NS (2 * NSEC_PER_SEC)

/* store_check() returns the error of the last group of batches for this time. */
#define WRITE_ERROR_NS (30 * NSEC_PER_SEC)

/* ClickHouse's code for a database that does not exist. */
#define CODE_UNKNOWN_DATABASE 81

static int make_database(struct clickhouse_store *self, struct clickhouse_client *client)
{
	char sql[512];
	const struct clickhouse_query create = { .sql = sql,
						 .idempotent = true,
						 .is_without_database = true };
	const struct clickhouse_cluster *cluster = clickhouse_store_cluster(self);
	int r = clickhouse_schema_migrate(client, cluster);

	if (r == 0 || clickhouse_client_code(client) != CODE_UNKNOWN_DATABASE)
		return r;
	(void)snprintf(sql, sizeof(sql), "CREATE DATABASE IF NOT EXISTS `%s`%s%s%s", self->database,
		       cluster ? " ON CLUSTER `" : "", cluster ? cluster->name : "",
		       cluster ? "`" : "");
	r = clickhouse_client_run(client, &create);
	return r < 0 ? r : clickhouse_schema_migrate(client, cluster);
}

static int make_tables(struct clickhouse_store *self, struct clickhouse_client *client)
{
	int r = make_database(self, client);

	if (r < 0 || !self->has_in_process)
		return r;
	return in_process_tables_make(client, clickhouse_store_cluster(self));
}

int clickhouse_store_prepare(struct clickhouse_store *self, struct clickhouse_client *client)
{
	int r = 0;

	if (atomic_load(&self->has_tables))
		return 0;
	(void)pthread_mutex_lock(&self->schema_lock);
	if (!atomic_load(&self->has_tables))
		r = make_tables(self, client);
	if (r == 0) {
		if (self->was_absent)
			log_info("ClickHouse answers: storing batches");
		self->was_absent = false;
		atomic_store(&self->has_tables, true);
	}
	(void)pthread_mutex_unlock(&self->schema_lock);
	/* For ingest, -EBADMSG is a batch that must not be sent again. */
	return r == -EBADMSG ? -EIO : r;
}

static void log_read_change(struct clickhouse_store *self, int error,
			    const struct clickhouse_client *client)
{
	bool is_change;

	if (error == -ECANCELED || error == -ENOMEM)
		return;
	(void)pthread_mutex_lock(&self->lock);
	is_change = self->last_read_error != error;
	self->last_read_error = error;
	(void)pthread_mutex_unlock(&self->lock);
	if (is_change && error < 0)
		log_error_errno(error, "cannot read from ClickHouse, queries fail, %s: %m",
				clickhouse_client_message(client));
	else if (is_change)
		log_info("reading from ClickHouse again");
}

int clickhouse_store_read(struct clickhouse_store *self, const struct clickhouse_query *query)
{
	struct clickhouse_client *client;
	int r = client_pool_borrow(self->pool, &client);

	if (r < 0)
		return r;
	r = clickhouse_store_prepare(self, client);
	if (r == 0)
		r = clickhouse_client_run(client, query);
	log_read_change(self, r, client);
	client_pool_return_take(self->pool, client);
	return r;
}

/* Errors of ClickHouse, not of a batch. */
static bool is_of_server(int error)
{
	return error == -ECONNREFUSED || error == -ETIMEDOUT || error == -EIO || error == -EACCES ||
	       error == -ENOSPC || error == -ENOMEM;
}

static void count_results(struct clickhouse_store *self, struct store_write *const *writes,
			  size_t count, int *ret_error)
{
	for (size_t i = 0; i < count; i++) {
		self->n_too_old += writes[i]->result == STORE_TOO_OLD;
		if (is_of_server(writes[i]->result))
			*ret_error = writes[i]->result;
		if (writes[i]->result != STORE_STORED)
			continue;
		self->n_batches++;
		self->n_rows += writes[i]->batch->n_rows;
		self->trusted.batch_ns =
			MAX(self->trusted.batch_ns, writes[i]->batch->closed_wall_ns);
	}
}

static size_t write_group(void *arg, struct store_write *const *writes, size_t count)
{
	struct clickhouse_store *self = arg;
	size_t n_written = count;
	int r = clickhouse_store_prepare(self, self->write_client);

	if (r == 0)
		n_written = clickhouse_writer_write_group(self->writer, writes, count);
	for (size_t i = 0; r < 0 && i < count; i++)
		writes[i]->result = r;
	(void)pthread_mutex_lock(&self->lock);
	count_results(self, writes, n_written, &r);
	self->last_write_error = r;
	self->last_write_ns = clock_monotonic_ns(self->clock);
	(void)pthread_mutex_unlock(&self->lock);
	return n_written;
}

static int operation_write(struct store *store, const char *tenant, const struct batch *batch,
			   struct arena *arena, struct store_missing *ret_missing)
{
	return write_queue_run(clickhouse_store_of(store)->queue, tenant, batch, arena,
			       ret_missing);
}

static void operation_set_retention(struct store *store, uint64_t retention_ns)
{
	struct clickhouse_store *self = clickhouse_store_of(store);

	self->retention_ns = retention_ns;
	clickhouse_writer_set_retention(self->writer, retention_ns);
}

static void operation_set_max_bytes(struct store *store, uint64_t max_bytes)
{
	clickhouse_store_of(store)->max_bytes = max_bytes;
}

static int recent_write_error(struct clickhouse_store *self)
{
	int r = 0;

	(void)pthread_mutex_lock(&self->lock);
	if (clock_monotonic_ns(self->clock) < self->last_write_ns + WRITE_ERROR_NS)
		r = self->last_write_error;
	(void)pthread_mutex_unlock(&self->lock);
	return r;
}

static int operation_check(struct store *store)
{
	struct clickhouse_store *self = clickhouse_store_of(store);
	const struct clickhouse_query query = {
		.sql = "SELECT 1",
		.is_single_attempt = true,
		.is_without_database = true,
		.timeout_ns = CHECK_TIMEOUT_NS,
	};
	struct clickhouse_client *client;
	int r = client_pool_borrow(self->pool, &client);

	if (r < 0)
		return r;
	r = clickhouse_client_run(client, &query);
	if (r == 0)
		r = clickhouse_store_prepare(self, client);
	client_pool_return_take(self->pool, client);
	return r < 0 ? r : recent_write_error(self);
}

static int operation_stats(struct store *store, struct store_stats *ret_stats)
{
	struct clickhouse_store *self = clickhouse_store_of(store);

	*ret_stats = (struct store_stats){
		.n_batches = self->n_batches,
		.n_rows = self->n_rows,
		.n_too_old_batches = self->n_too_old,
		.n_days_removed_by_age = self->n_removed_by_age,
		.n_days_removed_by_size = self->n_removed_by_size,
	};
	return clickhouse_store_disk_bytes(self, &ret_stats->disk_bytes);
}

static struct store *operation_free(struct store *store)
{
	struct clickhouse_store *self = clickhouse_store_of(store);

	(void)write_queue_free(self->queue);
	(void)clickhouse_writer_free(self->writer);
	(void)clickhouse_client_free(self->write_client);
	(void)client_pool_free(self->pool);
	(void)pthread_mutex_destroy(&self->schema_lock);
	(void)pthread_mutex_destroy(&self->lock);
	free(self->database);
	free(self->cluster_name);
	free(self->folder);
	free(self);
	return NULL;
}

static const struct store_operations clickhouse_operations = {
	.write = operation_write,
	.open_view = clickhouse_store_open_view,
	.agent_executables = clickhouse_store_agent_executables,
	.set_retention = operation_set_retention,
	.set_max_bytes = operation_set_max_bytes,
	.retain = clickhouse_store_retain,
	.check = operation_check,
	.stats = operation_stats,
	.free = operation_free,
};

static int make_writer(struct clickhouse_store *self, const struct clickhouse_options *server)
{
	struct clickhouse_writer_options options = {
		.clock = self->clock,
		.max_numbers_bytes = MAX_NUMBERS_BYTES,
		.max_agents = MAX_AGENTS,
		.max_rows_bytes = MAX_ROWS_BYTES,
		.records_changes = self->has_in_process,
	};
	const struct write_queue_options queue = {
		.max_writes = GROUP_MAX_BATCHES,
		.max_bytes = GROUP_MAX_BYTES,
		.spacing_ns = GROUP_SPACING_NS,
		.write_group = write_group,
		.arg = self,
	};
	int r = clickhouse_client_new(server, &self->write_client);

	options.client = self->write_client;
	if (r == 0)
		r = clickhouse_writer_new(&options, &self->writer);
	return r < 0 ? r : write_queue_new(&queue, &self->queue);
}

/* Errors that end when the server is reachable again. */
static bool is_absent(int error)
{
	return error == -ECONNREFUSED || error == -ETIMEDOUT || error == -EIO;
}

static int prepare_first(struct clickhouse_store *self, char *ret_message)
{
	struct clickhouse_client *client = self->write_client; /* nothing is written yet */
	int r = clickhouse_store_prepare(self, client);

	if (r == 0)
		return 0;
	if (is_absent(r) && clickhouse_client_code(client) == 0) {
		self->was_absent = true;
		log_warn_errno(r,
			       "cannot reach ClickHouse, agents keep their batches until it "
			       "answers, %s: %m",
			       clickhouse_client_message(client));
		return 0;
	}
	(void)snprintf(ret_message, CLICKHOUSE_STORE_MESSAGE_SIZE, "%s",
		       r == -EPROTO ? "its tables are of a later version of Hearth"
				    : clickhouse_client_message(client));
	return r;
}

static int copy_options(struct clickhouse_store *self,
			const struct clickhouse_store_options *options)
{
	self->database = strdup(options->server.database);
	self->folder = strdup(options->folder);
	if (!self->database || !self->folder)
		return -ENOMEM;
	if (!options->server.cluster)
		return 0;
	self->cluster_name = strdup(options->server.cluster);
	self->cluster = (struct clickhouse_cluster){ .name = self->cluster_name,
						     .database = self->database };
	return self->cluster_name ? 0 : -ENOMEM;
}

int clickhouse_store_open(const struct clickhouse_store_options *options, struct store **ret_store,
			  char ret_message[CLICKHOUSE_STORE_MESSAGE_SIZE])
{
	struct clickhouse_store *self = calloc(1, sizeof(*self));
	scoped(store_freep) struct store *store = self ? &self->store : NULL;
	int r;

	if (!self)
		return -ENOMEM;
	self->store.operations = &clickhouse_operations;
	self->clock = options->clock;
	self->has_in_process = options->has_in_process;
	(void)pthread_mutex_init(&self->lock, NULL);
	(void)pthread_mutex_init(&self->schema_lock, NULL);
	(void)snprintf(ret_message, CLICKHOUSE_STORE_MESSAGE_SIZE, "no memory");
	r = copy_options(self, options);
	if (r == 0)
		r = client_pool_new(&options->server, &self->pool);
	if (r == 0)
		r = make_writer(self, &options->server);
	if (r == 0)
		r = prepare_first(self, ret_message);
	if (r < 0)
		return r;
	trusted_clock_load(&self->trusted, self->folder);
	*ret_store = take_ptr(store);
	return 0;
}
