/* SPDX-License-Identifier: Apache-2.0 */
/*
 * As those of schema.c, the statements are accepted by version 18.16 and by current versions.
 * Constant columns are aliases, which need no space.
 */

#include "symbolizer/store/clickhouse/in_process_tables.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>

#include "symbolizer/store/clickhouse/row_binary.h"
#include "symbolizer/store/clickhouse/sql.h"

#define DATABASE "profile"

#define STRINGIFY_(text) #text
#define STRINGIFY(text)  STRINGIFY_(text)

/* No server fills any more a table of this age. */
#define OLD_FILL_S "3600"

/* Partitions that one call drops; the next call drops more. */
#define MAX_DROPPED 64

#define MAX_TENANTS_PER_UNIT 65536

/* The columns that a fill has. */
#define STORED_COLUMNS(X)                                                                          \
	X("time", "DateTime")                                                                      \
	X("_id", "UInt64")                                                                         \
	X("tenant", "String")                                                                      \
	X("app_service", "String")                                                                 \
	X("profile_event_type", "String")                                                          \
	X("profile_location_str", "String")                                                        \
	X("profile_value", "Int64")                                                                \
	X("profile_value_unit", "String")                                                          \
	X("process_id", "UInt32")                                                                  \
	X("agent", "String")                                                                       \
	X("host", "String")                                                                        \
	X("is_ipv4", "UInt8")                                                                      \
	X("ip4", "UInt32")                                                                         \
	X("ip6", "FixedString(16)")                                                                \
	X("pod", "String")                                                                         \
	X("pod_ns", "String")                                                                      \
	X("pod_cluster", "String")                                                                 \
	X("pod_node", "String")                                                                    \
	X("container_id", "String")                                                                \
	X("service", "String")                                                                     \
	X("version", "String")                                                                     \
	X("tag_names", "Array(String)")                                                            \
	X("tag_values", "Array(String)")                                                           \
	X("unnamed_frames", "UInt32")                                                              \
	X("fill_state", "UInt64")

#define ALIASES                                                                                    \
	"app_instance String ALIAS app_service, "                                                  \
	"process_name String ALIAS app_service, "                                                  \
	"profile_language_type String ALIAS 'eBPF', "                                              \
	"profile_id String ALIAS '', trace_id String ALIAS '', span_name String ALIAS '', "        \
	"compression_algo String ALIAS ''"

/*
 * DeepFlow's names for the number of a resource. Here its name identifies it, as in filters
 * (TAG_IDS in query/filter/tags.def).
 */
#define COLUMN_IDS(X)                                                                              \
	X("agent_id", "agent")                                                                     \
	X("vtap_id", "agent")                                                                      \
	X("host_id", "host")                                                                       \
	X("pod_id", "pod")                                                                         \
	X("pod_ns_id", "pod_ns")                                                                   \
	X("pod_cluster_id", "pod_cluster")                                                         \
	X("pod_node_id", "pod_node")

/* Resources that only a label names. */
#define LABEL_IDS(X)                                                                               \
	X("region_id", "region")                                                                   \
	X("az_id", "az")                                                                           \
	X("chost_id", "chost")                                                                     \
	X("vpc_id", "vpc")                                                                         \
	X("l3_epc_id", "vpc")                                                                      \
	X("router_id", "router")                                                                   \
	X("dhcpgw_id", "dhcpgw")                                                                   \
	X("lb_id", "lb")                                                                           \
	X("lb_listener_id", "lb_listener")                                                         \
	X("natgw_id", "natgw")                                                                     \
	X("redis_id", "redis")                                                                     \
	X("rds_id", "rds")                                                                         \
	X("pod_ingress_id", "pod_ingress")                                                         \
	X("pod_service_id", "pod_service")                                                         \
	X("pod_group_id", "pod_group")                                                             \
	X("auto_instance_id", "auto_instance")                                                     \
	X("auto_service_id", "auto_service")                                                       \
	X("gprocess_id", "gprocess")

#define PARTITION_AND_ORDER                                                                        \
	" PARTITION BY toUInt32(intDiv(toUInt32(time), " STRINGIFY(                                \
		IN_PROCESS_UNIT_S) ")) ORDER BY (app_service, profile_event_type, time, "          \
				   "profile_location_str)"

static int run_and_clear(struct clickhouse_client *client, struct bytes *sql)
{
	int r = sql_end(sql);

	if (r == 0)
		r = clickhouse_client_run(client, &(struct clickhouse_query){
							  .sql = (const char *)sql->data,
							  .idempotent = true,
							  .is_without_database = true,
							  .settings = CLICKHOUSE_CLUSTER_SETTINGS,
						  });
	bytes_clear(sql);
	return r;
}

static int select_rows(struct clickhouse_client *client, struct bytes *sql,
		       int (*read_row)(void *arg, struct bytes_reader *row), void *arg)
{
	struct clickhouse_query query = {
		.idempotent = true,
		.read_row = read_row,
		.arg = arg,
	};
	int r;

	(void)bytes_append_text(sql, " FORMAT RowBinary");
	r = sql_end(sql);
	query.sql = (const char *)sql->data;
	if (r == 0)
		r = clickhouse_client_run(client, &query);
	bytes_clear(sql);
	return r;
}

static void add_on_cluster(const struct clickhouse_cluster *cluster, struct bytes *sql)
{
	if (cluster)
		(void)bytes_append_format(sql, " ON CLUSTER `%s`", cluster->name);
}

static void begin_create(const struct clickhouse_cluster *cluster, const char *table,
			 struct bytes *sql)
{
	(void)bytes_append_format(sql, "CREATE TABLE IF NOT EXISTS `" DATABASE "`.`%s`", table);
	add_on_cluster(cluster, sql);
}

static void add_engine(const struct clickhouse_cluster *cluster, const char *kind,
		       const char *table, struct bytes *sql)
{
	const struct clickhouse_cluster own = { .name = cluster ? cluster->name : NULL,
						.database = DATABASE };

	clickhouse_schema_add_shared_engine(cluster ? &own : NULL, kind, table, sql);
}

static int make_rows_table(struct clickhouse_client *client,
			   const struct clickhouse_cluster *cluster)
{
	scoped(bytes_release) struct bytes sql = BYTES_INIT(MAX_SQL_BYTES);

	begin_create(cluster, "in_process", &sql);
	(void)bytes_append_text(&sql, " ("
#define X(name, type) name " " type ", "
				STORED_COLUMNS(X)
#undef X
#define X(id, column) id " String ALIAS " column ", "
					COLUMN_IDS(X)
#undef X
#define X(id, label) id " String ALIAS tag_values[indexOf(tag_names, '" label "')], "
						LABEL_IDS(X)
#undef X
							ALIASES ") ENGINE = ");
	add_engine(cluster, "", "in_process", &sql);
	(void)bytes_append_text(&sql, PARTITION_AND_ORDER);
	return run_and_clear(client, &sql);
}

static int make_changes_table(struct clickhouse_client *client,
			      const struct clickhouse_cluster *cluster)
{
	scoped(bytes_release) struct bytes sql = BYTES_INIT(MAX_SQL_BYTES);

	begin_create(cluster, "in_process_changes", &sql);
	(void)bytes_append_text(&sql, " (day UInt16, unit UInt32, tenant String, change UInt64, "
				      "stored_ns UInt64) ENGINE = ");
	add_engine(cluster, "Replacing", "in_process_changes", &sql);
	(void)bytes_append_text(&sql, " PARTITION BY day ORDER BY (unit, tenant, change)");
	return run_and_clear(client, &sql);
}

static int read_count(void *arg, struct bytes_reader *row)
{
	uint64_t count = row_read_u64(row);

	if (row->error == 0)
		*(uint64_t *)arg = count;
	return 0;
}

/* Statements for a whole cluster need all its servers, so none runs if the tables are there. */
int in_process_tables_make(struct clickhouse_client *client,
			   const struct clickhouse_cluster *cluster)
{
	scoped(bytes_release) struct bytes sql = BYTES_INIT(MAX_SQL_BYTES);
	uint64_t n_tables = 0;
	int r;

	(void)bytes_append_text(&sql,
				"SELECT count() FROM system.tables WHERE database = '" DATABASE
				"' AND name IN ('in_process', 'in_process_changes')");
	r = select_rows(client, &sql, read_count, &n_tables);
	if (r < 0 || n_tables == 2)
		return r;
	(void)bytes_append_text(&sql, "CREATE DATABASE IF NOT EXISTS `" DATABASE "`");
	add_on_cluster(cluster, &sql);
	r = run_and_clear(client, &sql);
	if (r == 0)
		r = make_rows_table(client, cluster);
	return r < 0 ? r : make_changes_table(client, cluster);
}

static int read_unit(void *arg, struct bytes_reader *row)
{
	struct in_process_units *units = arg;
	struct in_process_unit unit = {
		.unit = row_read_u32(row),
		.changes = row_read_u64(row),
		.changed_ns = row_read_u64(row),
	};

	return row->error < 0 ? 0 : vec_push(&units->list, unit);
}

static int read_state(void *arg, struct bytes_reader *row)
{
	struct in_process_units *units = arg;
	uint32_t unit = row_read_u32(row);
	uint64_t state = row_read_u64(row);

	for (size_t i = 0; i < units->list.count && row->error == 0; i++)
		if (units->list.items[i].unit == unit)
			units->list.items[i].state = state;
	return 0;
}

/* Rows of a change that are not merged yet are equal. */
static int find_changes(struct clickhouse_client *client, uint64_t from_ns,
			struct in_process_units *units)
{
	scoped(bytes_release) struct bytes sql = BYTES_INIT(MAX_SQL_BYTES);

	(void)bytes_append_format(
		&sql,
		"SELECT unit, sum(cityHash64(tenant, change)), max(stored_ns) FROM "
		"(SELECT DISTINCT unit, tenant, change, stored_ns "
		"FROM `" DATABASE "`.`in_process_changes` WHERE unit IN "
		"(SELECT unit FROM `" DATABASE "`.`in_process_changes` WHERE stored_ns >= %" PRIu64
		")) "
		"GROUP BY unit ORDER BY unit DESC",
		from_ns);
	return select_rows(client, &sql, read_unit, units);
}

static int find_states(struct clickhouse_client *client, struct in_process_units *units)
{
	scoped(bytes_release) struct bytes sql = BYTES_INIT(MAX_SQL_BYTES);
	const size_t count = units->list.count;

	if (count == 0)
		return 0;
	(void)bytes_append_format(
		&sql,
		"SELECT toUInt32(intDiv(toUInt32(time), %d)) AS u, any(fill_state) "
		"FROM `" DATABASE
		"`.`in_process` WHERE time >= toDateTime(%u) AND time < toDateTime(%u) GROUP BY u",
		IN_PROCESS_UNIT_S, units->list.items[count - 1].unit * IN_PROCESS_UNIT_S,
		(units->list.items[0].unit + 1) * IN_PROCESS_UNIT_S);
	return select_rows(client, &sql, read_state, units);
}

int in_process_find_units(struct clickhouse_client *client, uint64_t from_ns,
			  struct in_process_units *ret_units)
{
	int r = find_changes(client, from_ns, ret_units);

	return r < 0 ? r : find_states(client, ret_units);
}

struct tenants {
	struct arena *arena;
	const char **names; /* [MAX_TENANTS_PER_UNIT] */
	size_t count;
};

static int read_tenant(void *arg, struct bytes_reader *row)
{
	struct tenants *tenants = arg;
	struct bytes_view name = row_read_string(row);

	if (row->error < 0)
		return 0;
	if (tenants->count == MAX_TENANTS_PER_UNIT)
		return -ENOSPC;
	tenants->names[tenants->count] = row_copy_text(name, tenants->arena);
	return tenants->names[tenants->count++] ? 0 : -ENOMEM;
}

int in_process_find_tenants(struct clickhouse_client *client, uint32_t unit, struct arena *arena,
			    const char ***ret_tenants, size_t *ret_count)
{
	scoped(bytes_release) struct bytes sql = BYTES_INIT(MAX_SQL_BYTES);
	struct tenants tenants = { .arena = arena };
	int r;

	tenants.names = arena_alloc_array(arena, MAX_TENANTS_PER_UNIT, sizeof(*tenants.names));
	if (!tenants.names)
		return -ENOMEM;
	(void)bytes_append_format(&sql,
				  "SELECT DISTINCT tenant FROM `" DATABASE
				  "`.`in_process_changes` WHERE day = %u AND unit = %u",
				  in_process_day(unit), unit);
	r = select_rows(client, &sql, read_tenant, &tenants);
	if (r < 0)
		return r;
	*ret_tenants = tenants.names;
	*ret_count = tenants.count;
	return 0;
}

int in_process_fill_begin(struct clickhouse_client *client,
			  char ret_name[IN_PROCESS_FILL_NAME_SIZE])
{
	scoped(bytes_release) struct bytes sql = BYTES_INIT(MAX_SQL_BYTES);
	uint64_t number = 0;

	if (getrandom(&number, sizeof(number), 0) != sizeof(number))
		return -EIO;
	(void)snprintf(ret_name, IN_PROCESS_FILL_NAME_SIZE, "in_process_fill_%016" PRIx64, number);
	(void)bytes_append_format(&sql,
				  "CREATE TABLE IF NOT EXISTS `" DATABASE "`.`%s` AS `" DATABASE
				  "`.`in_process` ENGINE = MergeTree()" PARTITION_AND_ORDER,
				  ret_name);
	return run_and_clear(client, &sql);
}

/*
 * Not idempotent: if the answer is lost, the rows may be there already, and the fill begins anew
 * with another table.
 */
int in_process_fill_add(struct clickhouse_client *client, const char *name, struct bytes_view rows)
{
	scoped(bytes_release) struct bytes sql = BYTES_INIT(MAX_SQL_BYTES);
	struct clickhouse_query query = { .rows = rows };
	const char *separator = " (";
	int r;

	(void)bytes_append_format(&sql, "INSERT INTO `" DATABASE "`.`%s`", name);
#define X(column, type)                                                                            \
	(void)bytes_append_format(&sql, "%s" column, separator);                                   \
	separator = ", ";
	STORED_COLUMNS(X)
#undef X
	(void)bytes_append_text(&sql, ") FORMAT RowBinary");
	r = sql_end(&sql);
	query.sql = (const char *)sql.data;
	return r < 0 ? r : clickhouse_client_run(client, &query);
}

static int drop_partition(struct clickhouse_client *client, const char *table, uint32_t partition)
{
	scoped(bytes_release) struct bytes sql = BYTES_INIT(MAX_SQL_BYTES);

	(void)bytes_append_format(&sql, "ALTER TABLE `" DATABASE "`.`%s` DROP PARTITION %u", table,
				  partition);
	return run_and_clear(client, &sql);
}

static int read_names(void *arg, struct bytes_reader *row)
{
	struct in_process_names names = {
		.value = row_read_u64(row),
		.unnamed_frames = row_read_u64(row),
		.length = row_read_u64(row),
	};

	if (row->error == 0)
		*(struct in_process_names *)arg = names;
	return 0;
}

int in_process_find_names(struct clickhouse_client *client, const char *table, uint32_t unit,
			  struct in_process_names *ret_names)
{
	scoped(bytes_release) struct bytes sql = BYTES_INIT(MAX_SQL_BYTES);

	(void)bytes_append_format(&sql,
				  "SELECT toUInt64(sum(profile_value)), "
				  "toUInt64(sum(unnamed_frames)), "
				  "toUInt64(sum(length(profile_location_str))) FROM `" DATABASE
				  "`.`%s` WHERE time >= toDateTime(%u) AND time < toDateTime(%u)",
				  table, unit * IN_PROCESS_UNIT_S, (unit + 1) * IN_PROCESS_UNIT_S);
	*ret_names = (struct in_process_names){};
	return select_rows(client, &sql, read_names, ret_names);
}

int in_process_drop_unit(struct clickhouse_client *client, uint32_t unit)
{
	return drop_partition(client, "in_process", unit);
}

int in_process_fill_publish(struct clickhouse_client *client, const char *name, uint32_t unit)
{
	scoped(bytes_release) struct bytes sql = BYTES_INIT(MAX_SQL_BYTES);

	(void)bytes_append_format(&sql,
				  "ALTER TABLE `" DATABASE "`.`in_process` REPLACE PARTITION %u "
				  "FROM `" DATABASE "`.`%s`",
				  unit, name);
	return run_and_clear(client, &sql);
}

int in_process_fill_drop(struct clickhouse_client *client, const char *name)
{
	scoped(bytes_release) struct bytes sql = BYTES_INIT(MAX_SQL_BYTES);
	int r;

	(void)bytes_append_format(&sql, "DROP TABLE IF EXISTS `" DATABASE "`.`%s`", name);
	r = sql_end(&sql);
	return r < 0 ? r
		     : clickhouse_client_run(client, &(struct clickhouse_query){
							     .sql = (const char *)sql.data,
							     .idempotent = true,
							     .is_cleanup = true,
						     });
}

struct names {
	char items[MAX_DROPPED][IN_PROCESS_FILL_NAME_SIZE];
	size_t count;
};

static int read_name(void *arg, struct bytes_reader *row)
{
	struct names *names = arg;
	struct bytes_view name = row_read_string(row);

	if (row->error < 0 || names->count == MAX_DROPPED ||
	    name.size >= IN_PROCESS_FILL_NAME_SIZE || name.size == 0)
		return 0;
	memcpy(names->items[names->count], name.data, name.size);
	names->items[names->count++][name.size] = '\0';
	return 0;
}

/* Of the server that the client asks now. */
static int drop_old_fills_of_server(struct clickhouse_client *client)
{
	scoped(bytes_release) struct bytes sql = BYTES_INIT(MAX_SQL_BYTES);
	struct names names = {};
	int r;

	(void)bytes_append_text(&sql, "SELECT name FROM system.tables WHERE database = '" DATABASE
				      "' AND name LIKE 'in_process_fill_%' "
				      "AND metadata_modification_time < now() - " OLD_FILL_S);
	r = select_rows(client, &sql, read_name, &names);
	for (size_t i = 0; i < names.count && r == 0; i++)
		r = in_process_fill_drop(client, names.items[i]);
	return r;
}

int in_process_drop_old_fills(struct clickhouse_client *client)
{
	const size_t n_servers = clickhouse_client_n_servers(client);
	int r = 0;

	for (size_t i = 0; i < n_servers && r == 0; i++) {
		r = drop_old_fills_of_server(client);
		clickhouse_client_next_server(client);
	}
	return r;
}

struct partitions {
	uint32_t items[MAX_DROPPED];
	size_t count;
};

static int read_partition(void *arg, struct bytes_reader *row)
{
	struct partitions *partitions = arg;
	uint32_t partition = row_read_u32(row);

	if (row->error == 0 && partitions->count < MAX_DROPPED)
		partitions->items[partitions->count++] = partition;
	return 0;
}

/* @before: of the table's partition key. */
static int drop_partitions(struct clickhouse_client *client, const char *table, uint32_t before)
{
	scoped(bytes_release) struct bytes sql = BYTES_INIT(MAX_SQL_BYTES);
	struct partitions partitions = {};
	int r;

	(void)bytes_append_format(&sql,
				  "SELECT DISTINCT toUInt32(partition) AS p FROM system.parts "
				  "WHERE database = '" DATABASE "' AND table = '%s' AND active "
				  "AND p < %u ORDER BY p LIMIT %d",
				  table, before, MAX_DROPPED);
	r = select_rows(client, &sql, read_partition, &partitions);
	for (size_t i = 0; i < partitions.count && r == 0; i++)
		r = drop_partition(client, table, partitions.items[i]);
	return r;
}

int in_process_drop_before(struct clickhouse_client *client, uint32_t unit)
{
	int r = drop_partitions(client, "in_process", unit);

	return r < 0 ? r : drop_partitions(client, "in_process_changes", in_process_day(unit));
}
