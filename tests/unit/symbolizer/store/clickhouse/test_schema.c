/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/symbolizer/store/clickhouse/server_fixture.h"

#include "symbolizer/store/clickhouse/schema.h"

static struct clickhouse_client *new_database(const struct clickhouse_server *server,
					      const char *name)
{
	scoped(clickhouse_client_freep) struct clickhouse_client *client =
		server_client(server, NULL);
	scoped_free char *sql = NULL;

	assert_true(asprintf(&sql, "CREATE DATABASE %s", name) > 0);
	run_sql(client, sql);
	return server_client(server, name);
}

static void check(const struct clickhouse_client *client, int r)
{
	if (r < 0)
		fail_msg("%s: %s", strerror(-r), clickhouse_client_message(client));
}

#define N_TABLES                                                                                   \
	"SELECT count() FROM system.tables WHERE database = currentDatabase() FORMAT RowBinary"

static void tables_are_created_once_and_keep_their_rows(void **state)
{
	const struct clickhouse_server *server = *state;
	scoped(clickhouse_client_freep) struct clickhouse_client *client = NULL;

	skip_without_server(server);
	client = new_database(server, "created");
	check(client, clickhouse_schema_migrate(client, NULL));
	assert_int_equal(ask_number(client, N_TABLES), clickhouse_n_day_tables + 1);
	run_sql(client, "INSERT INTO named_frames VALUES (20000, 'default', 7, 'name')");
	check(client, clickhouse_schema_migrate(client, NULL));
	assert_int_equal(ask_number(client, N_TABLES), clickhouse_n_day_tables + 1);
	assert_int_equal(ask_number(client, "SELECT count() FROM named_frames FORMAT RowBinary"),
			 1);
}

static void a_migration_that_failed_is_completed(void **state)
{
	const struct clickhouse_server *server = *state;
	scoped(clickhouse_client_freep) struct clickhouse_client *client = NULL;

	skip_without_server(server);
	client = new_database(server, "completed");
	check(client, clickhouse_schema_migrate(client, NULL));
	/* As if the server had stopped before the last statement and the version. */
	run_sql(client, "DROP TABLE callers");
	run_sql(client, "DROP TABLE schema_version");
	check(client, clickhouse_schema_migrate(client, NULL));
	assert_int_equal(ask_number(client, N_TABLES), clickhouse_n_day_tables + 1);
}

static void tables_of_a_later_version_are_refused(void **state)
{
	const struct clickhouse_server *server = *state;
	scoped(clickhouse_client_freep) struct clickhouse_client *client = NULL;

	skip_without_server(server);
	client = new_database(server, "later");
	check(client, clickhouse_schema_migrate(client, NULL));
	run_sql(client, "INSERT INTO schema_version VALUES (1000)");
	assert_errno(clickhouse_schema_migrate(client, NULL), -EPROTO);
}

static void a_missing_database_is_reported(void **state)
{
	const struct clickhouse_server *server = *state;
	scoped(clickhouse_client_freep) struct clickhouse_client *client = NULL;

	skip_without_server(server);
	client = server_client(server, "missing");
	assert_errno(clickhouse_schema_migrate(client, NULL), -EIO);
	assert_int_equal(clickhouse_client_code(client), 81);
}

#define SAMPLE(day, epoch, sequence)                                                               \
	"INSERT INTO samples SELECT " day ", 1, 5, toFixedString('series', 16), " epoch            \
	", " sequence ", 6, 7, [toFixedString('stack', 16)], [toUInt32(3)], [toUInt64(10)]"

#define STORED_SUM                                                                                 \
	"SELECT sum(a) FROM (SELECT arraySum(amounts) AS a FROM samples"                           \
	" LIMIT 1 BY lane, hour, series, epoch, sequence) FORMAT RowBinary"

static void rows_of_one_batch_count_once_before_and_after_a_merge(void **state)
{
	const struct clickhouse_server *server = *state;
	scoped(clickhouse_client_freep) struct clickhouse_client *client = NULL;

	skip_without_server(server);
	client = new_database(server, "merged");
	check(client, clickhouse_schema_migrate(client, NULL));
	run_sql(client, SAMPLE("20000", "1", "1"));
	run_sql(client, SAMPLE("20000", "1", "1"));
	run_sql(client, SAMPLE("20000", "1", "2"));
	run_sql(client, SAMPLE("20000", "2", "1"));
	assert_int_equal(ask_number(client, STORED_SUM), 30);
	run_sql(client, "OPTIMIZE TABLE samples PARTITION 20000 FINAL");
	assert_int_equal(ask_number(client, STORED_SUM), 30);
	assert_int_equal(ask_number(client, "SELECT count() FROM samples FORMAT RowBinary"), 3);
}

static void days_are_dropped_in_all_tables(void **state)
{
	const struct clickhouse_server *server = *state;
	scoped(clickhouse_client_freep) struct clickhouse_client *client = NULL;

	skip_without_server(server);
	client = new_database(server, "dropped");
	check(client, clickhouse_schema_migrate(client, NULL));
	run_sql(client, SAMPLE("9999", "1", "1"));
	run_sql(client, SAMPLE("20000", "1", "1"));
	run_sql(client, SAMPLE("20001", "1", "1"));
	run_sql(client, SAMPLE("20002", "1", "1"));
	run_sql(client, "INSERT INTO named_frames VALUES (20000, 'default', 7, 'name')");
	run_sql(client, "INSERT INTO named_frames VALUES (20002, 'default', 7, 'name')");
	assert_int_equal(clickhouse_schema_drop_days(client, NULL, 20001), 3);
	assert_int_equal(
		ask_number(client, "SELECT toUInt64(min(day)) FROM samples FORMAT RowBinary"),
		20001);
	assert_int_equal(ask_number(client, "SELECT count() FROM samples FORMAT RowBinary"), 2);
	assert_int_equal(ask_number(client, "SELECT count() FROM named_frames FORMAT RowBinary"),
			 1);
	assert_int_equal(clickhouse_schema_drop_days(client, NULL, 20001), 0);
}

static void every_day_table_exists_and_has_days(void **state)
{
	const struct clickhouse_server *server = *state;
	scoped(clickhouse_client_freep) struct clickhouse_client *client = NULL;

	skip_without_server(server);
	client = new_database(server, "days");
	check(client, clickhouse_schema_migrate(client, NULL));
	for (size_t i = 0; i < clickhouse_n_day_tables; i++) {
		scoped_free char *sql = NULL;

		assert_true(asprintf(&sql, "SELECT count() FROM %s WHERE day = 1 FORMAT RowBinary",
				     clickhouse_day_tables[i]) > 0);
		assert_int_equal(ask_number(client, sql), 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tables_are_created_once_and_keep_their_rows),
		cmocka_unit_test(a_migration_that_failed_is_completed),
		cmocka_unit_test(tables_of_a_later_version_are_refused),
		cmocka_unit_test(a_missing_database_is_reported),
		cmocka_unit_test(rows_of_one_batch_count_once_before_and_after_a_merge),
		cmocka_unit_test(days_are_dropped_in_all_tables),
		cmocka_unit_test(every_day_table_exists_and_has_days),
	};

	return cmocka_run_group_tests(tests, server_group_setup, server_group_teardown);
}
