/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The database "profile", whose table "in_process" has symbolized stacks with the column names of
 * DeepFlow, for SQL and its dashboards.
 *
 * A partition of in_process is a unit of five minutes. It is written as a whole: rows are inserted
 * into a table of their own ("fill"), from which one statement replaces the partition. So the rows
 * of a unit are always those of one fill, whoever else writes it, however often, and wherever a
 * writer is killed.
 *
 * Each group of batches that a server stores adds rows to "in_process_changes": the units and the
 * tenants of its samples. The state of a unit is a hash of its changes, and each row of in_process
 * has the state from which it was made. A unit with another state is to be filled.
 *
 * In a cluster, each server has all rows of these tables.
 */

#include "common/arena.h"
#include "common/limits.h"
#include "common/vec.h"
#include "symbolizer/store/clickhouse/client.h"
#include "symbolizer/store/clickhouse/schema.h"

#define IN_PROCESS_UNIT_S 300
/* Column time is a DateTime: the last unit that ends in 32 bits of seconds, in the year 2106. */
#define IN_PROCESS_MAX_UNIT   (UINT32_MAX / IN_PROCESS_UNIT_S - 1)
#define IN_PROCESS_UNIT_SLOTS (IN_PROCESS_UNIT_S * NSEC_PER_SEC / SLOT_NS)

/* "(day, unit, ...)" of in_process_changes: u16 day, u32 unit, text tenant, u64 change, u64 ns. */
#define IN_PROCESS_INSERT_CHANGES                                                                  \
	"INSERT INTO `profile`.`in_process_changes` "                                              \
	"(day, unit, tenant, change, stored_ns) FORMAT RowBinary"

/* Column day of the unit. */
static inline uint32_t in_process_day(uint64_t unit)
{
	return (uint32_t)(unit / (24 * 3600 / IN_PROCESS_UNIT_S));
}

/* Creates the database and the tables that do not exist. @cluster NULL: one server. */
int in_process_tables_make(struct clickhouse_client *client,
			   const struct clickhouse_cluster *cluster);

/* A unit that batches have changed. */
struct in_process_unit {
	uint32_t unit;       /* unix seconds / IN_PROCESS_UNIT_S */
	uint64_t changes;    /* hash of all its changes */
	uint64_t changed_ns; /* wall: when the last of them was stored */
	uint64_t state;      /* of its rows; 0: it has none */
};

struct in_process_units {
	VEC_DEFINE(, struct in_process_unit) list; /* the newest first */
};

/* Lists the units with a change since @from_ns. The caller releases the list. */
int in_process_find_units(struct clickhouse_client *client, uint64_t from_ns,
			  struct in_process_units *ret_units);

/* The tenants with samples in the unit. Texts are in @arena. */
int in_process_find_tenants(struct clickhouse_client *client, uint32_t unit, struct arena *arena,
			    const char ***ret_tenants, size_t *ret_count);

/* "in_process_fill_" and 16 digits. */
#define IN_PROCESS_FILL_NAME_SIZE 40

/* Creates an empty table for the rows of a unit; its name is random. */
int in_process_fill_begin(struct clickhouse_client *client,
			  char ret_name[IN_PROCESS_FILL_NAME_SIZE]);

/* @rows: RowBinary, the columns of STORED_COLUMNS in in_process_tables.c. */
int in_process_fill_add(struct clickhouse_client *client, const char *name, struct bytes_view rows);

/* How well the rows of a unit are symbolized. */
struct in_process_names {
	uint64_t value; /* sum of profile_value: equal if the rows have the same samples */
	uint64_t unnamed_frames;
	uint64_t length; /* of all stacks as text: inlined functions make it longer */
};

/* @table: "in_process", or the name of a fill. Without rows all sums are 0. */
int in_process_find_names(struct clickhouse_client *client, const char *table, uint32_t unit,
			  struct in_process_names *ret_names);

/*
 * Replaces the rows of the unit by those of the fill, which has some: current versions of
 * ClickHouse refuse it otherwise.
 */
int in_process_fill_publish(struct clickhouse_client *client, const char *name, uint32_t unit);

/* Drops the rows of the unit, if there are any. */
int in_process_drop_unit(struct clickhouse_client *client, uint32_t unit);

/* Drops the table, also when the client's cancel is requested. */
int in_process_fill_drop(struct clickhouse_client *client, const char *name);

/*
 * Drops the tables of fills that were left an hour ago or earlier: by a server that was killed, or
 * by one that changed to another server of ClickHouse within a fill. In a cluster, a fill is on one
 * server of ClickHouse, so the client asks each of its servers.
 */
int in_process_drop_old_fills(struct clickhouse_client *client);

/* Drops the rows of all units before @unit. In a cluster the client asks any of its servers. */
int in_process_drop_before(struct clickhouse_client *client, uint32_t unit);
