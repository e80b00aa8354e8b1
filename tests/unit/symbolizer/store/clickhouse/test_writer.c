/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each test has a database of its own in a real ClickHouse server. A second writer stands for
 * another symbolizer, or for the same one after a restart.
 */

#include "tests/unit/symbolizer/store/clickhouse/server_fixture.h"

#include "symbolizer/store/clickhouse/in_process_tables.h"
#include "symbolizer/store/clickhouse/writer.h"
#include "tests/unit/symbolizer/store/sqlite/store_fixture.h"

struct site {
	const struct clickhouse_server *server;
	const char *database;
	struct test_clock clock;
	struct clickhouse_client *client; /* of the test */
	struct clickhouse_client *writer_client;
	struct clickhouse_writer *writer;
	bool records_changes;
};

static void add_writer(struct site *site, size_t max_rows_bytes)
{
	const struct clickhouse_writer_options options = {
		.client = site->writer_client = server_client(site->server, site->database),
		.clock = &site->clock.clock,
		.max_numbers_bytes = 4 * MIB,
		.max_agents = 16,
		.max_rows_bytes = max_rows_bytes,
		.records_changes = site->records_changes,
	};

	assert_ok(clickhouse_writer_new(&options, &site->writer));
}

/* The writer keeps the address of the clock in @site. */
static void init_site(struct site *site, const struct clickhouse_server *server,
		      const char *database)
{
	scoped_free char *sql = NULL;

	*site = (struct site){ .server = server,
			       .database = database,
			       .clock = test_clock_at(NOON) };
	site->client = server_client(server, NULL);
	assert_true(asprintf(&sql, "CREATE DATABASE %s", database) > 0);
	run_sql(site->client, sql);
	(void)clickhouse_client_free(site->client);
	site->client = server_client(server, database);
	assert_ok(clickhouse_schema_migrate(site->client, NULL));
	add_writer(site, 16 * MIB);
}

static void remove_writer(struct site *site)
{
	site->writer = clickhouse_writer_free(site->writer);
	site->writer_client = clickhouse_client_free(site->writer_client);
}

static void release_site(struct site *site)
{
	if (!site->client)
		return;
	remove_writer(site);
	site->client = clickhouse_client_free(site->client);
}

/* The server knows no number of an agent any more. */
static void restart(struct site *site)
{
	remove_writer(site);
	add_writer(site, 16 * MIB);
}

/* A decoded batch that waits in the queue. */
struct waiting {
	struct arena *arena;
	struct batch batch;
	struct store_missing missing;
	struct store_write write;
};

static void decode(struct batch_builder *builder, const char *tenant, struct waiting *waiting)
{
	scoped(bytes_release) struct bytes body = BYTES_INIT(64 * MIB);
	char reason[DECODE_MESSAGE_SIZE];

	*waiting = (struct waiting){};
	assert_ok(arena_new(BATCH_MAX_DECODED_BYTES, &waiting->arena));
	batch_builder_finish(builder, &body);
	if (batch_decode(bytes_view_of(&body), waiting->arena, &waiting->batch, reason) < 0)
		fail_msg("%s", reason);
	waiting->write = (struct store_write){
		.tenant = tenant,
		.batch = &waiting->batch,
		.arena = waiting->arena,
		.ret_missing = &waiting->missing,
	};
}

static int write_one(struct site *site, struct batch_builder *builder)
{
	struct waiting waiting;
	struct store_write *writes[] = { &waiting.write };

	decode(builder, "default", &waiting);
	assert_int_equal(clickhouse_writer_write_group(site->writer, writes, 1), 1);
	(void)arena_free(waiting.arena);
	return waiting.write.result;
}

#define SAMPLES_ONCE                                                                               \
	"(SELECT series, slots, stacks, amounts FROM samples WHERE lane != 0"                      \
	" LIMIT 1 BY lane, hour, series, epoch, sequence)"

static uint64_t stored_sum(const struct site *site)
{
	return ask_number(site->client,
			  "SELECT sum(arraySum(amounts)) FROM " SAMPLES_ONCE " FORMAT RowBinary");
}

static uint64_t count_distinct(const struct site *site, const char *table)
{
	scoped_free char *sql = NULL;

	assert_true(asprintf(&sql, "SELECT uniqExact(id) FROM %s FORMAT RowBinary", table) > 0);
	return ask_number(site->client, sql);
}

static void a_batch_becomes_rows_and_definitions(void **state)
{
	const struct clickhouse_server *server = *state;
	scoped(release_site) struct site site = {};

	skip_without_server(server);
	init_site(&site, server, "becomes_rows");
	assert_int_equal(write_one(&site, batch_at(1, NOON, true)), STORE_STORED);
	assert_int_equal(stored_sum(&site), 7);
	assert_int_equal(count_distinct(&site, "series"), 1);
	assert_int_equal(count_distinct(&site, "processes"), 1);
	assert_int_equal(count_distinct(&site, "executables"), 1);
	assert_int_equal(count_distinct(&site, "stacks"), 2);
	/* The frames below 0x3000 and those below 0x2000. */
	assert_int_equal(count_distinct(&site, "callers"), 2);
	assert_int_equal(ask_number(site.client,
				    "SELECT sum(arraySum(addresses)) FROM callers"
				    " WHERE id IN (SELECT callers FROM stacks WHERE address ="
				    " 12288 AND cut = 0) FORMAT RowBinary"),
			 0x2000 + 0x1000);
	assert_int_equal(ask_number(site.client, "SELECT sum(n_rows) FROM batches"
						 " WHERE tenant = 'default' FORMAT RowBinary"),
			 3);
	assert_int_equal(ask_number(site.client, "SELECT count() FROM series WHERE service ="
						 " 'server' AND event = 'on-cpu' AND unit = 'ns'"
						 " FORMAT RowBinary"),
			 1);
}

static void a_known_definition_is_written_once_a_day(void **state)
{
	const struct clickhouse_server *server = *state;
	scoped(release_site) struct site site = {};

	skip_without_server(server);
	init_site(&site, server, "once_a_day");
	for (uint64_t i = 1; i <= 4; i++)
		assert_int_equal(
			write_one(&site, batch_at(i, NOON + i * 12 * 3600 * NSEC_PER_SEC, i == 1)),
			STORE_STORED);
	/* The batches are at midnight and noon of two days; one ends at midnight. */
	assert_int_equal(ask_number(site.client, "SELECT uniqExact(day) FROM samples"
						 " FORMAT RowBinary"),
			 3);
	assert_int_equal(ask_number(site.client, "SELECT count() FROM series FORMAT RowBinary"), 3);
	assert_int_equal(stored_sum(&site), 28);
}

static void a_repeated_batch_is_a_duplicate_for_every_server(void **state)
{
	const struct clickhouse_server *server = *state;
	scoped(release_site) struct site site = {};

	skip_without_server(server);
	init_site(&site, server, "repeated");
	assert_int_equal(write_one(&site, batch_at(1, NOON, true)), STORE_STORED);
	assert_int_equal(write_one(&site, batch_at(1, NOON, true)), STORE_DUPLICATE);
	/* An hour later, through a server that knows no number. */
	site.clock.wall_ns += 3600 * NSEC_PER_SEC;
	restart(&site);
	assert_int_equal(write_one(&site, batch_at(1, NOON, false)), STORE_DUPLICATE);
	assert_int_equal(stored_sum(&site), 7);
}

static uint64_t count_changes(const struct site *site)
{
	return ask_number(site->client, "SELECT uniqExact(change) FROM profile.in_process_changes"
					" WHERE tenant = 'default' FORMAT RowBinary");
}

static void a_stored_batch_is_a_change_of_the_units_of_its_samples(void **state)
{
	const struct clickhouse_server *server = *state;
	scoped(release_site) struct site site = {};

	skip_without_server(server);
	init_site(&site, server, "changes");
	assert_ok(in_process_tables_make(site.client, NULL));
	assert_int_equal(write_one(&site, batch_at(1, NOON, true)), STORE_STORED);
	assert_int_equal(count_changes(&site), 0);

	site.records_changes = true;
	restart(&site);
	assert_int_equal(write_one(&site, batch_at(2, NOON, true)), STORE_STORED);
	assert_int_equal(count_changes(&site), 1);
	assert_int_equal(ask_number(site.client, "SELECT uniqExact(unit) FROM"
						 " profile.in_process_changes FORMAT RowBinary"),
			 ask_number(site.client,
				    "SELECT uniqExact(intDiv(hour * 360000 + slot, 30000)) FROM"
				    " samples ARRAY JOIN slots AS slot WHERE sequence = 2"
				    " FORMAT RowBinary"));
	/* A duplicate stores nothing. */
	assert_int_equal(write_one(&site, batch_at(2, NOON, true)), STORE_DUPLICATE);
	assert_int_equal(count_changes(&site), 1);

	/* Without the table nothing is stored, so that no sample is missing in it later. */
	run_sql(site.client, "DROP TABLE profile.in_process_changes");
	assert_true(write_one(&site, batch_at(3, NOON, true)) < 0);
	assert_int_equal(stored_sum(&site), 14);
}

static void after_a_restart_the_agent_is_asked_for_its_numbers(void **state)
{
	const struct clickhouse_server *server = *state;
	scoped(release_site) struct site site = {};
	struct waiting waiting;
	struct store_write *writes[] = { &waiting.write };

	skip_without_server(server);
	init_site(&site, server, "restarted");
	assert_int_equal(write_one(&site, batch_at(1, NOON, true)), STORE_STORED);
	assert_int_equal(write_one(&site, batch_at(2, NOON, false)), STORE_STORED);
	restart(&site);
	decode(batch_at(3, NOON, false), "default", &waiting);
	assert_int_equal(clickhouse_writer_write_group(site.writer, writes, 1), 1);
	assert_int_equal(waiting.write.result, STORE_NEEDS_NUMBERS);
	assert_int_equal(waiting.missing.n_series, 1);
	assert_int_equal(waiting.missing.n_stacks, 2);
	(void)arena_free(waiting.arena);
	assert_int_equal(stored_sum(&site), 14);
	assert_int_equal(write_one(&site, batch_at(3, NOON, true)), STORE_STORED);
	assert_int_equal(stored_sum(&site), 21);
	assert_int_equal(count_distinct(&site, "series"), 1);
	assert_int_equal(count_distinct(&site, "stacks"), 2);
}

/* Two servers that get a batch at the same time both find no marker of it. */
static void a_batch_that_two_servers_write_counts_once(void **state)
{
	const struct clickhouse_server *server = *state;
	scoped(release_site) struct site site = {};

	skip_without_server(server);
	init_site(&site, server, "two_servers");
	run_sql(site.client, "CREATE TABLE kept AS samples ENGINE = Memory");
	assert_int_equal(write_one(&site, batch_at(1, NOON, true)), STORE_STORED);
	run_sql(site.client, "INSERT INTO kept SELECT * FROM samples");
	run_sql(site.client, "TRUNCATE TABLE samples");
	restart(&site);
	assert_int_equal(write_one(&site, batch_at(1, NOON, true)), STORE_STORED);
	run_sql(site.client, "INSERT INTO samples SELECT * FROM kept");
	assert_int_equal(ask_number(site.client, "SELECT count() FROM samples FORMAT RowBinary"),
			 4);
	assert_int_equal(stored_sum(&site), 7);
	run_sql(site.client, "OPTIMIZE TABLE samples FINAL");
	assert_int_equal(ask_number(site.client, "SELECT count() FROM samples FORMAT RowBinary"),
			 2);
	assert_int_equal(stored_sum(&site), 7);
}

static void only_the_missing_day_of_a_batch_is_written_again(void **state)
{
	const uint64_t midnight = NOON + 12 * 3600 * NSEC_PER_SEC;
	const struct clickhouse_server *server = *state;
	scoped(release_site) struct site site = {};
	scoped_free char *sql = NULL;

	skip_without_server(server);
	init_site(&site, server, "missing_day");
	/* Rows with 1 and 2 on the first day, and with 4 on the second. */
	assert_int_equal(write_one(&site, batch_at(1, midnight + 2 * NSEC_PER_SEC, true)),
			 STORE_STORED);
	assert_int_equal(stored_sum(&site), 7);
	assert_true(asprintf(&sql, "ALTER TABLE samples DROP PARTITION %u",
			     (unsigned int)(midnight / (24 * 3600 * NSEC_PER_SEC))) > 0);
	run_sql(site.client, sql);
	assert_int_equal(stored_sum(&site), 3);
	assert_int_equal(write_one(&site, batch_at(1, midnight + 2 * NSEC_PER_SEC, true)),
			 STORE_STORED);
	assert_int_equal(stored_sum(&site), 7);
	assert_int_equal(ask_number(site.client, "SELECT count() FROM samples FORMAT RowBinary"),
			 4);
	assert_int_equal(write_one(&site, batch_at(1, midnight + 2 * NSEC_PER_SEC, true)),
			 STORE_DUPLICATE);
}

static void a_failed_group_is_stored_completely_when_it_is_sent_again(void **state)
{
	const struct clickhouse_server *server = *state;
	scoped(release_site) struct site site = {};

	skip_without_server(server);
	init_site(&site, server, "failed_group");
	run_sql(site.client, "DROP TABLE batches");
	assert_errno(write_one(&site, batch_at(1, NOON, true)), -EIO);
	assert_int_equal(stored_sum(&site), 0);
	run_sql(site.client, "DROP TABLE schema_version");
	/* Also what was written before the failure is lost. */
	run_sql(site.client, "DROP TABLE stacks");
	assert_ok(clickhouse_schema_migrate(site.client, NULL));
	assert_int_equal(write_one(&site, batch_at(1, NOON, true)), STORE_STORED);
	assert_int_equal(stored_sum(&site), 7);
	assert_int_equal(count_distinct(&site, "stacks"), 2);
}

static void tenants_share_no_rows(void **state)
{
	const struct clickhouse_server *server = *state;
	scoped(release_site) struct site site = {};
	struct waiting waiting[2];
	struct store_write *writes[] = { &waiting[0].write, &waiting[1].write };

	skip_without_server(server);
	init_site(&site, server, "tenants");
	decode(batch_at(1, NOON, true), "a", &waiting[0]);
	decode(batch_at(1, NOON, true), "b", &waiting[1]);
	assert_int_equal(clickhouse_writer_write_group(site.writer, writes, 2), 2);
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(waiting[i].write.result, STORE_STORED);
		(void)arena_free(waiting[i].arena);
	}
	assert_int_equal(stored_sum(&site), 14);
	assert_int_equal(count_distinct(&site, "series"), 2);
	assert_int_equal(count_distinct(&site, "stacks"), 4);
	assert_int_equal(count_distinct(&site, "executables"), 2);
}

/* Two numbers of an agent with equal definitions are one series, whose rows have one key. */
static void equal_series_of_a_batch_are_merged(void **state)
{
	const struct clickhouse_server *server = *state;
	scoped(release_site) struct site site = {};
	struct batch_builder *builder;

	skip_without_server(server);
	init_site(&site, server, "equal_series");
	builder = batch_at(1, NOON, true);
	batch_builder_series(builder, 2, 1, 4711, "main", EVENT_ON_CPU, 10 * NSEC_PER_MSEC);
	batch_builder_row(builder, 2, 1, NOON - 2 * NSEC_PER_SEC, 100);
	assert_int_equal(write_one(&site, builder), STORE_STORED);
	assert_int_equal(count_distinct(&site, "series"), 1);
	assert_int_equal(stored_sum(&site), 107);
}

static void batches_beyond_the_size_of_a_group_wait_for_the_next(void **state)
{
	const struct clickhouse_server *server = *state;
	scoped(release_site) struct site site = {};
	struct waiting waiting[3];
	struct store_write *writes[] = { &waiting[0].write, &waiting[1].write, &waiting[2].write };
	size_t n_written = 0, n_groups = 0;

	skip_without_server(server);
	init_site(&site, server, "full_group");
	remove_writer(&site);
	/* Room for one batch: its row of SAMPLES has 158 bytes, and its marker 62. */
	add_writer(&site, 400);
	for (uint64_t i = 0; i < 3; i++)
		decode(batch_at(i + 1, NOON, true), "default", &waiting[i]);
	for (; n_written < 3; n_groups++)
		n_written += clickhouse_writer_write_group(site.writer, writes + n_written,
							   3 - n_written);
	assert_true(n_groups > 1);
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(waiting[i].write.result, STORE_STORED);
		(void)arena_free(waiting[i].arena);
	}
	assert_int_equal(stored_sum(&site), 21);
	assert_int_equal(count_distinct(&site, "stacks"), 2);
}

static void a_batch_older_than_the_retention_is_refused(void **state)
{
	const struct clickhouse_server *server = *state;
	scoped(release_site) struct site site = {};
	const uint64_t day_ns = 24 * 3600 * NSEC_PER_SEC;

	skip_without_server(server);
	init_site(&site, server, "too_old");
	clickhouse_writer_set_retention(site.writer, 2 * day_ns);
	assert_int_equal(write_one(&site, batch_at(1, NOON - 3 * day_ns, true)), STORE_TOO_OLD);
	assert_int_equal(write_one(&site, batch_at(1, NOON - 2 * day_ns, true)), STORE_STORED);
}

/* An agent's host is renamed and named as before again an hour later. */
static void the_newest_attributes_of_a_host_win(void **state)
{
	static const char *const names[] = { "old", "new", "old" };
	const struct clickhouse_server *server = *state;
	scoped(release_site) struct site site = {};

	skip_without_server(server);
	init_site(&site, server, "host_names");
	for (uint64_t i = 0; i < 3; i++) {
		struct batch_builder *builder =
			batch_at(i + 1, NOON + i * 3600 * NSEC_PER_SEC, i == 0);

		batch_builder_host(builder, names[i], "1.0");
		assert_int_equal(write_one(&site, builder), STORE_STORED);
	}
	assert_int_equal(ask_number(site.client, "SELECT toUInt64(argMax(name, seen_ns) = 'old')"
						 " FROM hosts FORMAT RowBinary"),
			 1);
	run_sql(site.client, "OPTIMIZE TABLE hosts FINAL");
	assert_int_equal(ask_number(site.client, "SELECT count() FROM hosts WHERE name = 'old'"
						 " AND is_first = 0"
						 " FORMAT RowBinary"),
			 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_batch_becomes_rows_and_definitions),
		cmocka_unit_test(a_known_definition_is_written_once_a_day),
		cmocka_unit_test(a_repeated_batch_is_a_duplicate_for_every_server),
		cmocka_unit_test(a_stored_batch_is_a_change_of_the_units_of_its_samples),
		cmocka_unit_test(after_a_restart_the_agent_is_asked_for_its_numbers),
		cmocka_unit_test(a_batch_that_two_servers_write_counts_once),
		cmocka_unit_test(only_the_missing_day_of_a_batch_is_written_again),
		cmocka_unit_test(a_failed_group_is_stored_completely_when_it_is_sent_again),
		cmocka_unit_test(tenants_share_no_rows),
		cmocka_unit_test(equal_series_of_a_batch_are_merged),
		cmocka_unit_test(batches_beyond_the_size_of_a_group_wait_for_the_next),
		cmocka_unit_test(a_batch_older_than_the_retention_is_refused),
		cmocka_unit_test(the_newest_attributes_of_a_host_win),
	};

	return cmocka_run_group_tests(tests, server_group_setup, server_group_teardown);
}
