/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The tables of the store in ClickHouse.
 *
 * Several servers write the same tables without locks. Therefore the ID of a row is a hash of its
 * content (XXH3-128, FixedString(16)): two servers that write the same definition write the same
 * row, and ReplacingMergeTree keeps one of them. Between merges a table has both, so queries select
 * with LIMIT 1 BY the columns of ORDER BY, or compute functions that equal rows do not change.
 *
 * Every table is partitioned by day (UTC, days since 1970). A definition is a row of each day whose
 * samples use it, so that retention drops all tables of a day, and a query reads only its days.
 *
 * A row of "samples" has the samples of one series of one batch in one hour. Its key has (epoch,
 * sequence) of the batch, and the series implies the agent: a batch that is written again replaces
 * itself. Rows with lane 0 mark stored batches: their series is the hash of tenant and agent. They
 * are written after all other rows, so that a batch of which only a part was written is written
 * again.
 *
 * The lane of samples and series is the hash of tenant, service and event type. It leads the key,
 * so that a query reads the rows of few services.
 *
 * In a cluster, the rows of a table are in <table>_local of each server (ReplicatedMergeTree), and
 * <table> is a Distributed table over them, so that the same queries serve both. The shard follows
 * from the key of a row: rows that replace each other are on one shard.
 */

#include "symbolizer/store/clickhouse/client.h"

#define CLICKHOUSE_SCHEMA_VERSION 1

/* Columns object_type and object_types: the table whose row the object of a frame is. */
enum clickhouse_object_type {
	CLICKHOUSE_NO_OBJECT = 0,
	CLICKHOUSE_EXECUTABLE = 1,
	CLICKHOUSE_CODE_OBJECT = 2,
};

/* Column flags of processes. */
#define CLICKHOUSE_KERNEL_THREAD  1
#define CLICKHOUSE_WITHOUT_STACKS 2

/* Names of all tables that have days. */
extern const char *const clickhouse_day_tables[];
extern const size_t clickhouse_n_day_tables;

/* The servers that have the tables. */
struct clickhouse_cluster {
	const char *name;     /* in remote_servers of ClickHouse's configuration */
	const char *database; /* which all its servers have */
};

/*
 * Creates or updates the tables in the client's database, which must exist, and on all servers of
 * @cluster (NULL: none). May run on several servers at a time. -EPROTO: the tables are of a later
 * version of Hearth. Other errors have a message in the client.
 */
int clickhouse_schema_migrate(struct clickhouse_client *client,
			      const struct clickhouse_cluster *cluster);

/* Of a statement for all servers of a cluster. */
#define CLICKHOUSE_CLUSTER_SETTINGS "distributed_ddl_task_timeout=30"

/*
 * "ReplacingMergeTree()", of a table of which each server of @cluster has all rows. @kind:
 * "Replacing" or "".
 */
void clickhouse_schema_add_shared_engine(const struct clickhouse_cluster *cluster, const char *kind,
					 const char *table, struct bytes *sql);

/* Drops the partitions of all days before @day. Returns their number. */
int clickhouse_schema_drop_days(struct clickhouse_client *client,
				const struct clickhouse_cluster *cluster, uint32_t day);

/*
 * "FROM system.parts WHERE ...": the active parts of the tables, in a cluster those of one replica
 * of each shard.
 */
void clickhouse_schema_add_parts(const struct clickhouse_cluster *cluster, struct bytes *sql);
