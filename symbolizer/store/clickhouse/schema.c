/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The statements are accepted by version 18.16 and by current versions of ClickHouse: without
 * codecs, TTL and data-skipping indices. Each can run again: after a failure in the middle of a
 * version, the next start repeats the statements of that version.
 */

#include "symbolizer/store/clickhouse/schema.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/limits.h"
#include "common/vec.h"
#include "symbolizer/store/clickhouse/row_binary.h"
#include "symbolizer/store/clickhouse/sql.h"

/* ClickHouse's codes. */
#define CODE_UNKNOWN_TABLE    60
#define CODE_TIMEOUT_EXCEEDED 159

#define MAX_STATEMENT_BYTES (8 * KIB)

struct table {
	const char *name;
	const char *columns; /* without day */
	const char *version; /* column: rows of a key are replaced by the highest; "": by any */
	const char *order;
	const char *granularity; /* rows with arrays are long, so an index mark has few of them */
	const char *shard;       /* column of the key that selects the shard */
};

static const struct table version_1[] = {
	{ "samples",
	  "lane UInt64, hour UInt32, series FixedString(16), epoch UInt64, sequence UInt64, "
	  "first_slot UInt64, last_slot UInt64, stacks Array(FixedString(16)), "
	  "slots Array(UInt32), amounts Array(UInt64)",
	  "", "lane, hour, series, epoch, sequence", "1024", "series" },
	{ "batches",
	  "tenant String, agent FixedString(16), epoch UInt64, sequence UInt64, "
	  "opened_ns UInt64, closed_ns UInt64, stored_ns UInt64, n_rows UInt64, "
	  "counter_names Array(String), counter_values Array(UInt64)",
	  "", "tenant, agent, closed_ns, epoch, sequence", "1024", "agent" },
	/* Of each host and day, merges keep the earliest row (is_first) and the latest one. */
	{ "hosts",
	  "tenant String, agent FixedString(16), is_first UInt8, version UInt64, "
	  "seen_ns UInt64, name String, "
	  "machine_id String, boot_id String, kernel_release String, architecture String, "
	  "agent_version String, n_cpus UInt32, ips Array(String), "
	  "label_names Array(String), label_values Array(String)",
	  "version", "tenant, agent, is_first", "1024", "agent" },
	{ "processes",
	  "id FixedString(16), tenant String, agent FixedString(16), changed_ns UInt64, "
	  "pid UInt32, parent_pid UInt32, start_time_ns UInt64, name String, "
	  "executable_path String, main_executable FixedString(16), flags UInt8, "
	  "path_set FixedString(16), label_names Array(String), label_values Array(String)",
	  "changed_ns", "id", "1024", "id" },
	{ "path_sets",
	  "id FixedString(16), executables Array(FixedString(16)), paths Array(String)", "", "id",
	  "256", "id" },
	{ "series",
	  "lane UInt64, id FixedString(16), tenant String, service String, event String, "
	  "unit String, event_kind UInt8, process FixedString(16), tid UInt32, "
	  "thread_name String, cpu_plus_one UInt32, period_ns UInt64, "
	  "label_names Array(String), label_values Array(String)",
	  "", "lane, id", "1024", "id" },
	/* The key has all columns that later definitions complete: queries merge the variants. */
	{ "executables",
	  "id FixedString(16), tenant String, kind UInt8, identity String, name String, "
	  "role UInt8, n_segments UInt32, file_offsets Array(UInt64), vaddrs Array(UInt64), "
	  "file_sizes Array(UInt64)",
	  "", "id, name, role, n_segments", "1024", "id" },
	{ "code_objects",
	  "id FixedString(16), language String, name String, qualified_name String, "
	  "file String, first_line UInt32, line_table String",
	  "", "id", "1024", "id" },
	{ "named_frames", "tenant String, frame_key UInt64, name String", "", "tenant, frame_key",
	  "1024", "frame_key" },
	/* A stack is its leaf and its callers, which many leaves share. */
	{ "stacks",
	  "id FixedString(16), cut UInt8, kind UInt8, object_type UInt8, "
	  "object FixedString(16), address UInt64, callers FixedString(16)",
	  "", "id", "1024", "id" },
	{ "callers",
	  "id FixedString(16), kinds Array(UInt8), object_types Array(UInt8), "
	  "objects Array(FixedString(16)), addresses Array(UInt64)",
	  "", "id", "256", "id" },
};

static const struct {
	const struct table *tables;
	size_t count;
} versions[] = {
	{ version_1, ARRAY_SIZE(version_1) },
};

static_assert(ARRAY_SIZE(versions) == CLICKHOUSE_SCHEMA_VERSION, "each version has tables");

const char *const clickhouse_day_tables[] = {
	"samples",     "batches",      "hosts",        "processes", "path_sets", "series",
	"executables", "code_objects", "named_frames", "stacks",    "callers",
};
const size_t clickhouse_n_day_tables = ARRAY_SIZE(clickhouse_day_tables);

static int run(struct clickhouse_client *client, const char *sql)
{
	return clickhouse_client_run(client, &(struct clickhouse_query){
						     .sql = sql,
						     .idempotent = true,
						     .settings = CLICKHOUSE_CLUSTER_SETTINGS,
					     });
}

/* "name", in a cluster "`database`.`name` ON CLUSTER `cluster`". */
static void add_name(const struct clickhouse_cluster *cluster, const char *name, const char *suffix,
		     struct bytes *sql)
{
	if (cluster)
		(void)bytes_append_format(sql, "`%s`.`%s%s` ON CLUSTER `%s`", cluster->database,
					  name, suffix, cluster->name);
	else
		(void)bytes_append_text(sql, name);
}

/*
 * The names of the shard and of the replica are macros in the configuration of each server. Shards
 * may have equal names of replicas.
 */
static void add_engine(const struct clickhouse_cluster *cluster, const struct table *table,
		       struct bytes *sql)
{
	if (cluster)
		(void)bytes_append_format(
			sql,
			"ReplicatedReplacingMergeTree('/clickhouse/tables/{shard}/%s/%s', "
			"'{shard}-{replica}'%s%s)",
			cluster->database, table->name, *table->version ? ", " : "",
			table->version);
	else
		(void)bytes_append_format(sql, "ReplacingMergeTree(%s)", table->version);
}

static int run_and_clear(struct clickhouse_client *client, struct bytes *sql)
{
	int r = sql_end(sql);

	if (r == 0)
		r = run(client, (const char *)sql->data);
	bytes_clear(sql);
	return r;
}

static int create_table(struct clickhouse_client *client, const struct clickhouse_cluster *cluster,
			const struct table *table)
{
	scoped(bytes_release) struct bytes sql = BYTES_INIT(MAX_STATEMENT_BYTES);
	int r;

	(void)bytes_append_text(&sql, "CREATE TABLE IF NOT EXISTS ");
	add_name(cluster, table->name, "_local", &sql);
	(void)bytes_append_format(&sql, " (day UInt16, %s) ENGINE = ", table->columns);
	add_engine(cluster, table, &sql);
	(void)bytes_append_format(&sql,
				  " PARTITION BY day ORDER BY (%s) SETTINGS index_granularity = %s",
				  table->order, table->granularity);
	r = run_and_clear(client, &sql);
	if (r < 0 || !cluster)
		return r;
	(void)bytes_append_text(&sql, "CREATE TABLE IF NOT EXISTS ");
	add_name(cluster, table->name, "", &sql);
	(void)bytes_append_format(&sql,
				  " (day UInt16, %s) ENGINE = Distributed(`%s`, `%s`, `%s_local`, "
				  "sipHash64(%s))",
				  table->columns, cluster->name, cluster->database, table->name,
				  table->shard);
	return run_and_clear(client, &sql);
}

void clickhouse_schema_add_shared_engine(const struct clickhouse_cluster *cluster, const char *kind,
					 const char *table, struct bytes *sql)
{
	if (cluster)
		(void)bytes_append_format(sql,
					  "Replicated%sMergeTree('/clickhouse/tables/all/%s/%s', "
					  "'{shard}-{replica}')",
					  kind, cluster->database, table);
	else
		(void)bytes_append_format(sql, "%sMergeTree()", kind);
}

/* Each server of a cluster has all rows. */
static int create_versions(struct clickhouse_client *client,
			   const struct clickhouse_cluster *cluster)
{
	scoped(bytes_release) struct bytes sql = BYTES_INIT(MAX_STATEMENT_BYTES);

	(void)bytes_append_text(&sql, "CREATE TABLE IF NOT EXISTS ");
	add_name(cluster, "schema_version", "", &sql);
	(void)bytes_append_text(&sql, " (version UInt32) ENGINE = ");
	clickhouse_schema_add_shared_engine(cluster, "Replacing", "schema_version", &sql);
	(void)bytes_append_text(&sql, " ORDER BY version");
	return run_and_clear(client, &sql);
}

static int read_version(void *arg, struct bytes_reader *row)
{
	uint32_t version = row_read_u32(row);

	if (row->error == 0)
		*(uint32_t *)arg = version;
	return 0;
}

static int find_version(struct clickhouse_client *client, uint32_t *ret_version)
{
	const struct clickhouse_query query = {
		.sql = "SELECT toUInt32(max(version)) FROM schema_version FORMAT RowBinary",
		.idempotent = true,
		.read_row = read_version,
		.arg = ret_version,
	};

	*ret_version = 0;
	return clickhouse_client_run(client, &query);
}

static int apply_version(struct clickhouse_client *client, const struct clickhouse_cluster *cluster,
			 uint32_t version)
{
	char sql[80];
	int r = 0;

	for (size_t i = 0; i < versions[version - 1].count && r == 0; i++)
		r = create_table(client, cluster, &versions[version - 1].tables[i]);
	if (r < 0)
		return r;
	(void)snprintf(sql, sizeof(sql), "INSERT INTO schema_version VALUES (%" PRIu32 ")",
		       version);
	return run(client, sql);
}

/* Statements for a whole cluster need all its servers, so none runs if the tables are there. */
int clickhouse_schema_migrate(struct clickhouse_client *client,
			      const struct clickhouse_cluster *cluster)
{
	uint32_t version;
	int r;

	r = find_version(client, &version);
	if (r < 0 && clickhouse_client_code(client) == CODE_UNKNOWN_TABLE) {
		r = create_versions(client, cluster);
		if (r == 0)
			r = find_version(client, &version);
	}
	if (r < 0)
		return r;
	if (version > CLICKHOUSE_SCHEMA_VERSION)
		return -EPROTO;
	while (version < CLICKHOUSE_SCHEMA_VERSION && r == 0)
		r = apply_version(client, cluster, ++version);
	return r;
}

void clickhouse_schema_add_parts(const struct clickhouse_cluster *cluster, struct bytes *sql)
{
	if (cluster)
		(void)bytes_append_format(
			sql, "FROM cluster('%s', system.parts) WHERE database = '%s' AND active",
			cluster->name, cluster->database);
	else
		(void)bytes_append_text(
			sql, "FROM system.parts WHERE database = currentDatabase() AND active");
}

struct partitions {
	VEC_DEFINE(, uint32_t) days;
};

static int read_day(void *arg, struct bytes_reader *row)
{
	uint32_t day = row_read_u32(row);
	struct partitions *partitions = arg;

	return row->error < 0 ? 0 : vec_push(&partitions->days, day);
}

static int find_days(struct clickhouse_client *client, const struct clickhouse_cluster *cluster,
		     const char *table, uint32_t before, struct partitions *partitions)
{
	scoped(bytes_release) struct bytes sql = BYTES_INIT(MAX_STATEMENT_BYTES);
	struct clickhouse_query query = {
		.idempotent = true,
		.read_row = read_day,
		.arg = partitions,
	};
	int r;

	(void)bytes_append_text(&sql, "SELECT DISTINCT toUInt32(partition) AS d ");
	clickhouse_schema_add_parts(cluster, &sql);
	(void)bytes_append_format(&sql, " AND table = '%s%s' AND d < %" PRIu32 " FORMAT RowBinary",
				  table, cluster ? "_local" : "", before);
	vec_clear(&partitions->days);
	r = sql_end(&sql);
	query.sql = (const char *)sql.data;
	return r < 0 ? r : clickhouse_client_run(client, &query);
}

/*
 * Servers of a cluster that are away drop the partitions once they are back, so the end of the wait
 * for them is no error.
 */
static int drop_day(struct clickhouse_client *client, const struct clickhouse_cluster *cluster,
		    const char *table, uint32_t day)
{
	scoped(bytes_release) struct bytes sql = BYTES_INIT(MAX_STATEMENT_BYTES);
	int r;

	(void)bytes_append_text(&sql, "ALTER TABLE ");
	add_name(cluster, table, "_local", &sql);
	(void)bytes_append_format(&sql, " DROP PARTITION %" PRIu32, day);
	r = run_and_clear(client, &sql);
	return cluster && clickhouse_client_code(client) == CODE_TIMEOUT_EXCEEDED ? 0 : r;
}

int clickhouse_schema_drop_days(struct clickhouse_client *client,
				const struct clickhouse_cluster *cluster, uint32_t day)
{
	struct partitions partitions = {};
	int n_dropped = 0;
	int r = 0;

	for (size_t i = 0; i < clickhouse_n_day_tables && r == 0; i++) {
		const char *table = clickhouse_day_tables[i];

		r = find_days(client, cluster, table, day, &partitions);
		for (size_t j = 0; j < partitions.days.count && r == 0; j++)
			r = drop_day(client, cluster, table, partitions.days.items[j]);
		n_dropped += (int)partitions.days.count;
	}
	vec_release(&partitions.days);
	return r < 0 ? r : n_dropped;
}
