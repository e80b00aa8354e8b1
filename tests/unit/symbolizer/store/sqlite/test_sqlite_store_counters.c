/* SPDX-License-Identifier: Apache-2.0 */
/* The limit of counter names, and files of format 1. */

#include "tests/unit/symbolizer/store/sqlite/store_fixture.h"

#include <sqlite3.h>
#include <stdio.h>
#include <string.h>

#include "symbolizer/ingest/batch_checks.h"
#include "symbolizer/store/sqlite/counter_names.h"

static const char *const names[] = { "samples_total{}", STORE_COUNTERS_LEFT_OUT };

enum { SAMPLES, LEFT_OUT };

struct counted {
	uint64_t sums[ARRAY_SIZE(names)];
	int64_t last_delay_ms;
	size_t n_batches;
};

static int add_batch(void *arg, const struct store_batch_counters *batch)
{
	struct counted *counted = arg;

	assert_int_equal(batch->host_index, 0);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		counted->sums[i] += batch->values[i];
	counted->last_delay_ms = batch->delay_ms;
	counted->n_batches++;
	return 0;
}

static struct counted count_newest(struct store *store, uint64_t from_ns, uint64_t to_ns,
				   size_t max)
{
	static const uint32_t hosts[] = { 1 };
	const struct store_counter_query query = {
		.hosts = hosts,
		.n_hosts = ARRAY_SIZE(hosts),
		.from_slot = from_ns / SLOT_NS,
		.to_slot = to_ns / SLOT_NS,
		.names = names,
		.n_names = ARRAY_SIZE(names),
		.max_batches = max,
	};
	scoped(store_view_closep) struct store_view *view = open_view(store, "default");
	struct counted counted = {};

	assert_ok(store_scan_counters(view, &query, add_batch, &counted));
	return counted;
}

static void write_counted(struct store *store, uint64_t epoch, uint64_t sequence,
			  uint64_t closed_wall_ns, uint64_t value)
{
	struct batch_builder *builder = batch_builder_new(
		1, epoch, sequence, closed_wall_ns - 5 * NSEC_PER_SEC, closed_wall_ns);

	batch_builder_counter(builder, "samples_total{}", value);
	assert_int_equal(write_batch(store, builder), STORE_STORED);
}

static int count_rows(const char *folder, const char *sql)
{
	sqlite3_stmt *row = NULL;
	sqlite3 *db = NULL;
	char path[256];
	int count;

	(void)snprintf(path, sizeof(path), "%s/samples-2026-01-01.db", folder);
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &row, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_step(row), SQLITE_ROW);
	count = sqlite3_column_int(row, 0);
	(void)sqlite3_finalize(row);
	(void)sqlite3_close(db);
	return count;
}

/* Another tenant's names are not affected. Known names stay known. */
static void names_beyond_the_limit_of_a_tenant_are_left_out_and_counted(void **state)
{
	struct test_clock clock = test_clock_at(NOON);
	scoped(store_freep) struct store *store = open_store(*state, &clock);
	char name[BATCH_MAX_TEXT_BYTES + 1];

	write_counted(store, EPOCH, 1, NOON + 5 * NSEC_PER_SEC, 1);
	for (uint64_t i = 2; i <= 3; i++) {
		struct batch_builder *builder = batch_at(i, NOON + 5 * i * NSEC_PER_SEC, true);

		for (int k = 2; k < DECODE_MAX_COUNTERS; k++) {
			(void)snprintf(name, sizeof(name), "hostile_%d_%d_total{}", (int)i, k);
			batch_builder_counter(builder, name, 1);
		}
		memset(name, 'n', sizeof(name) - 1);
		name[sizeof(name) - 1] = '\0';
		batch_builder_counter(builder, name, 1);
		batch_builder_counter(builder, "samples_total{}", 7);
		assert_int_equal(write_batch(store, builder), STORE_STORED);
	}
	assert_int_equal(count_rows(*state, "SELECT count(*) FROM counter_name"),
			 COUNTER_NAMES_MAX);
	assert_int_equal(count_newest(store, NOON, NOON + 60 * NSEC_PER_SEC, 9).sums[SAMPLES], 15);
	assert_int_equal(count_newest(store, NOON, NOON + 60 * NSEC_PER_SEC, 9).sums[LEFT_OUT],
			 2 * (DECODE_MAX_COUNTERS - 1) - (COUNTER_NAMES_MAX - 1));
}

/*
 * Converts the day file to format 1, which the previous version wrote: counters are texts in the
 * block.
 */
static void make_format_1(const char *folder)
{
	static const char sql[] =
		"DROP TABLE counter_name; DROP TABLE counter_minute; DROP TABLE counter_text;"
		/* samples_total{} 9 */
		"UPDATE block SET counters = x'0f' || CAST('samples_total{}' AS BLOB) || x'09';"
		"UPDATE block SET counters = CAST(counters AS BLOB);"
		"PRAGMA user_version=1";
	sqlite3 *db = NULL;
	char path[256];

	(void)snprintf(path, sizeof(path), "%s/samples-2026-01-01.db", folder);
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
	(void)sqlite3_close(db);
}

static void counters_of_files_of_format_1_are_read_before_and_after_conversion(void **state)
{
	struct test_clock clock = test_clock_at(NOON);
	struct store *store = open_store(*state, &clock);
	struct counted counted;

	write_counted(store, EPOCH, 1, NOON + 5 * NSEC_PER_SEC, 1);
	(void)store_free(store);
	make_format_1(*state);

	store = open_store(*state, &clock);
	counted = count_newest(store, NOON, NOON + 60 * NSEC_PER_SEC, 9);
	assert_int_equal(counted.n_batches, 1);
	assert_int_equal(counted.sums[SAMPLES], 9);
	assert_true(counted.last_delay_ms == INT64_MAX);
	write_counted(store, EPOCH, 2, NOON + 10 * NSEC_PER_SEC, 1);
	counted = count_newest(store, NOON, NOON + 60 * NSEC_PER_SEC, 9);
	assert_int_equal(counted.n_batches, 2);
	assert_int_equal(counted.sums[SAMPLES], 10);
	(void)store_free(store);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			names_beyond_the_limit_of_a_tenant_are_left_out_and_counted,
			temp_folder_setup, temp_folder_teardown),
		cmocka_unit_test_setup_teardown(
			counters_of_files_of_format_1_are_read_before_and_after_conversion,
			temp_folder_setup, temp_folder_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
