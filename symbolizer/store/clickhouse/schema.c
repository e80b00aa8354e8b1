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

#include "common/vec.h"
#include "symbolizer/store/clickhouse/row_binary.h"

/* Creates the table of a version. Rows with arrays are long, so an index mark has few of them. */
#define TABLE(name, columns, engine, order, granularity)                                           \
	"CREATE TABLE IF NOT EXISTS " name " (day UInt16, " columns ") ENGINE = " engine           \
	" PARTITION BY day ORDER BY (" order ") SETTINGS index_granularity = " granularity

#define REPLACING "ReplacingMergeTree()"

static const char create_versions[] = "CREATE TABLE IF NOT EXISTS schema_version (version UInt32)"
				      " ENGINE = ReplacingMergeTree() ORDER BY version";

static const char *const version_1[] = {
	TABLE("samples",
	      "lane UInt64, hour UInt32, series FixedString(16), epoch UInt64, sequence UInt64, "
	      "first_slot UInt64, last_slot UInt64, stacks Array(FixedString(16)), "
	      "slots Array(UInt32), amounts Array(UInt64)",
	      REPLACING, "lane, hour, series, epoch, sequence", "1024"),
	TABLE("batches",
	      "tenant String, agent FixedString(16), epoch UInt64, sequence UInt64, "
	      "opened_ns UInt64, closed_ns UInt64, stored_ns UInt64, n_rows UInt64, "
	      "counter_names Array(String), counter_values Array(UInt64)",
	      REPLACING, "tenant, agent, closed_ns, epoch, sequence", "1024"),
	TABLE("hosts",
	      "tenant String, agent FixedString(16), seen_ns UInt64, name String, "
	      "machine_id String, boot_id String, kernel_release String, architecture String, "
	      "agent_version String, n_cpus UInt32, ips Array(String), "
	      "label_names Array(String), label_values Array(String)",
	      "ReplacingMergeTree(seen_ns)", "tenant, agent", "1024"),
	TABLE("processes",
	      "id FixedString(16), tenant String, agent FixedString(16), changed_ns UInt64, "
	      "pid UInt32, parent_pid UInt32, start_time_ns UInt64, name String, "
	      "executable_path String, main_executable FixedString(16), flags UInt8, "
	      "path_set FixedString(16), label_names Array(String), label_values Array(String)",
	      "ReplacingMergeTree(changed_ns)", "id", "1024"),
	TABLE("path_sets",
	      "id FixedString(16), executables Array(FixedString(16)), paths Array(String)",
	      REPLACING, "id", "256"),
	TABLE("series",
	      "lane UInt64, id FixedString(16), tenant String, service String, event String, "
	      "unit String, event_kind UInt8, process FixedString(16), tid UInt32, "
	      "thread_name String, cpu_plus_one UInt32, period_ns UInt64, "
	      "label_names Array(String), label_values Array(String)",
	      REPLACING, "lane, id", "1024"),
	/* The key has all columns that later definitions complete: queries merge the variants. */
	TABLE("executables",
	      "id FixedString(16), tenant String, kind UInt8, identity String, name String, "
	      "role UInt8, n_segments UInt32, file_offsets Array(UInt64), vaddrs Array(UInt64), "
	      "file_sizes Array(UInt64)",
	      REPLACING, "id, name, role, n_segments", "1024"),
	TABLE("code_objects",
	      "id FixedString(16), language String, name String, qualified_name String, "
	      "file String, first_line UInt32, line_table String",
	      REPLACING, "id", "1024"),
	TABLE("named_frames", "tenant String, frame_key UInt64, name String", REPLACING,
	      "tenant, frame_key", "1024"),
	/* A stack is its leaf and its callers, which many leaves share. */
	TABLE("stacks",
	      "id FixedString(16), cut UInt8, kind UInt8, object_type UInt8, "
	      "object FixedString(16), address UInt64, callers FixedString(16)",
	      REPLACING, "id", "1024"),
	TABLE("callers",
	      "id FixedString(16), kinds Array(UInt8), object_types Array(UInt8), "
	      "objects Array(FixedString(16)), addresses Array(UInt64)",
	      REPLACING, "id", "256"),
};

static const struct {
	const char *const *statements;
	size_t count;
} versions[] = {
	{ version_1, ARRAY_SIZE(version_1) },
};

static_assert(ARRAY_SIZE(versions) == CLICKHOUSE_SCHEMA_VERSION, "each version has statements");

const char *const clickhouse_day_tables[] = {
	"samples",     "batches",      "hosts",        "processes", "path_sets", "series",
	"executables", "code_objects", "named_frames", "stacks",    "callers",
};
const size_t clickhouse_n_day_tables = ARRAY_SIZE(clickhouse_day_tables);

static int run(struct clickhouse_client *client, const char *sql)
{
	return clickhouse_client_run(client,
				     &(struct clickhouse_query){ .sql = sql, .idempotent = true });
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

static int apply_version(struct clickhouse_client *client, uint32_t version)
{
	char sql[80];
	int r = 0;

	for (size_t i = 0; i < versions[version - 1].count && r == 0; i++)
		r = run(client, versions[version - 1].statements[i]);
	if (r < 0)
		return r;
	(void)snprintf(sql, sizeof(sql), "INSERT INTO schema_version VALUES (%" PRIu32 ")",
		       version);
	return run(client, sql);
}

int clickhouse_schema_migrate(struct clickhouse_client *client)
{
	uint32_t version;
	int r;

	r = run(client, create_versions);
	if (r == 0)
		r = find_version(client, &version);
	if (r < 0)
		return r;
	if (version > CLICKHOUSE_SCHEMA_VERSION)
		return -EPROTO;
	while (version < CLICKHOUSE_SCHEMA_VERSION && r == 0)
		r = apply_version(client, ++version);
	return r;
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

static int find_days(struct clickhouse_client *client, const char *table, uint32_t before,
		     struct partitions *partitions)
{
	char sql[256];
	const struct clickhouse_query query = {
		.sql = sql,
		.idempotent = true,
		.read_row = read_day,
		.arg = partitions,
	};

	(void)snprintf(sql, sizeof(sql),
		       "SELECT DISTINCT toUInt32(partition) AS d FROM system.parts"
		       " WHERE database = currentDatabase() AND table = '%s' AND active"
		       " AND d < %" PRIu32 " FORMAT RowBinary",
		       table, before);
	vec_clear(&partitions->days);
	return clickhouse_client_run(client, &query);
}

static int drop_days_of(struct clickhouse_client *client, const char *table,
			const struct partitions *partitions)
{
	char sql[128];
	int r = 0;

	for (size_t i = 0; i < partitions->days.count && r == 0; i++) {
		(void)snprintf(sql, sizeof(sql), "ALTER TABLE %s DROP PARTITION %" PRIu32, table,
			       partitions->days.items[i]);
		r = run(client, sql);
	}
	return r;
}

int clickhouse_schema_drop_days(struct clickhouse_client *client, uint32_t day)
{
	struct partitions partitions = {};
	int n_dropped = 0;
	int r = 0;

	for (size_t i = 0; i < clickhouse_n_day_tables && r == 0; i++) {
		r = find_days(client, clickhouse_day_tables[i], day, &partitions);
		if (r == 0)
			r = drop_days_of(client, clickhouse_day_tables[i], &partitions);
		n_dropped += (int)partitions.days.count;
	}
	vec_release(&partitions.days);
	return r < 0 ? r : n_dropped;
}
