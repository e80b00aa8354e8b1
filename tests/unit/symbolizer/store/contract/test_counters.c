/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/symbolizer/store/contract/contract_fixture.h"

#include <sqlite3.h>

#include "symbolizer/ingest/batch_checks.h"
#include "symbolizer/store/sqlite/counter_names.h"

static const char *const names[] = { "samples_total{}", "stacks_cut_total{",
				     STORE_COUNTERS_LEFT_OUT };

enum { SAMPLES, CUT, LEFT_OUT };

struct counted {
	uint64_t sums[ARRAY_SIZE(names)];
	uint64_t covered_ns, sequences;
	int64_t last_delay_ms;
	size_t n_batches;
};

static int add_batch(void *arg, const struct store_batch_counters *batch)
{
	struct counted *counted = arg;

	assert_int_equal(batch->host_index, 0);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		counted->sums[i] += batch->values[i];
	counted->covered_ns += batch->closed_wall_ns - batch->opened_wall_ns;
	counted->sequences += batch->sequence;
	counted->last_delay_ms = batch->delay_ms;
	counted->n_batches++;
	return 0;
}

static struct counted count_newest(struct contract *contract, uint64_t from_ns, uint64_t to_ns,
				   size_t max)
{
	scoped(store_view_closep) struct store_view *view = open_view(contract->store, "default");
	const uint32_t hosts[] = { contract_host(contract, view) };
	const struct store_counter_query query = {
		.hosts = hosts,
		.n_hosts = ARRAY_SIZE(hosts),
		.from_slot = from_ns / SLOT_NS,
		.to_slot = to_ns / SLOT_NS,
		.names = names,
		.n_names = ARRAY_SIZE(names),
		.max_batches = max,
	};
	struct counted counted = {};

	assert_ok(store_scan_counters(view, &query, add_batch, &counted));
	return counted;
}

static void write_counted(struct contract *contract, uint64_t epoch, uint64_t sequence,
			  uint64_t closed_wall_ns, uint64_t value)
{
	struct batch_builder *builder = batch_builder_new(
		1, epoch, sequence, closed_wall_ns - 5 * NSEC_PER_SEC, closed_wall_ns);

	batch_builder_counter(builder, "samples_total{}", value);
	assert_int_equal(contract_write(contract, builder), STORE_STORED);
}

/*
 * The batches have two epochs (runs of the agent), three minutes and two days. The counter of each
 * batch is another power of ten, so a sum shows which batches were counted.
 */
static void the_newest_minutes_of_all_days_and_epochs_are_counted(void **state)
{
	const uint64_t midnight = NOON + 12 * 3600 * NSEC_PER_SEC;
	struct contract *contract = *state;
	const uint64_t from = NOON, to = midnight + 3600 * NSEC_PER_SEC;

	write_counted(contract, EPOCH, 1, midnight - 70 * NSEC_PER_SEC, 1);
	write_counted(contract, EPOCH, 2, midnight - 50 * NSEC_PER_SEC, 10);
	write_counted(contract, EPOCH, 3, midnight + 10 * NSEC_PER_SEC, 100);
	write_counted(contract, EPOCH + 1, 1, midnight + 30 * NSEC_PER_SEC, 1000);
	write_counted(contract, EPOCH + 1, 2, midnight + 70 * NSEC_PER_SEC, 10000);
	assert_int_equal(count_newest(contract, from, to, 1).sums[SAMPLES], 10000);
	assert_int_equal(count_newest(contract, from, to, 2).sums[SAMPLES], 11000);
	assert_int_equal(count_newest(contract, from, to, 3).sums[SAMPLES], 11100);
	assert_int_equal(count_newest(contract, from, to, 4).sums[SAMPLES], 11110);
	assert_int_equal(count_newest(contract, from, to, 9).sums[SAMPLES], 11111);
	assert_int_equal(count_newest(contract, from, to, 9).sequences, 1 + 2 + 3 + 1 + 2);
}

/* A loss in such a batch may have happened in the range. */
static void a_batch_that_overlaps_the_range_is_counted(void **state)
{
	struct contract *contract = *state;

	for (uint64_t i = 1; i <= 3; i++)
		write_counted(contract, EPOCH, i, NOON + 5 * i * NSEC_PER_SEC, i);
	assert_int_equal(count_newest(contract, NOON + 6 * NSEC_PER_SEC, NOON + 7 * NSEC_PER_SEC, 9)
				 .sums[SAMPLES],
			 2);
	assert_int_equal(
		count_newest(contract, NOON + 5 * NSEC_PER_SEC, NOON + 15 * NSEC_PER_SEC, 9)
			.sums[SAMPLES],
		5);
	assert_int_equal(
		count_newest(contract, NOON + 15 * NSEC_PER_SEC, NOON + 60 * NSEC_PER_SEC, 9)
			.n_batches,
		0);
}

static void a_batch_over_midnight_is_counted_once(void **state)
{
	const uint64_t midnight = NOON + 12 * 3600 * NSEC_PER_SEC;
	struct contract *contract = *state;
	struct counted counted;

	write_counted(contract, EPOCH, 1, midnight + 2 * NSEC_PER_SEC, 7);
	counted = count_newest(contract, NOON, midnight + 60 * NSEC_PER_SEC, 9);
	assert_int_equal(counted.n_batches, 1);
	assert_int_equal(counted.sums[SAMPLES], 7);
	assert_int_equal(counted.covered_ns, 5 * NSEC_PER_SEC);
}

static void counters_with_names_that_begin_alike_are_summed(void **state)
{
	struct contract *contract = *state;
	struct batch_builder *builder = batch_at(1, NOON + 5 * NSEC_PER_SEC, true);
	struct counted counted;

	contract->clock.wall_ns += 6 * NSEC_PER_SEC;
	batch_builder_counter(builder, "stacks_cut_total{reason=\"depth\"}", 5);
	batch_builder_counter(builder, "unknown_to_the_query_total{}", 100);
	batch_builder_counter(builder, "stacks_cut_total{reason=\"bad-frame\"}", 7);
	assert_int_equal(contract_write(contract, builder), STORE_STORED);
	counted = count_newest(contract, NOON, NOON + 60 * NSEC_PER_SEC, 9);
	assert_int_equal(counted.sums[CUT], 12);
	assert_int_equal(counted.sums[SAMPLES], 0);
	assert_int_equal(counted.last_delay_ms, 1000);
}

/* An agent with a short interval. */
static void a_minute_of_many_batches_is_read_completely(void **state)
{
	struct contract *contract = *state;
	char name[32];
	struct counted counted;

	for (uint64_t i = 1; i <= 100; i++) {
		uint64_t closed_ns = NOON + i * NSEC_PER_SEC / 2;
		struct batch_builder *builder =
			batch_builder_new(1, EPOCH, i, closed_ns - NSEC_PER_SEC / 2, closed_ns);

		batch_builder_counter(builder, "samples_total{}", i);
		for (int k = 0; k < 30; k++) {
			(void)snprintf(name, sizeof(name), "other_%d_total{}", k);
			batch_builder_counter(builder, name, 1000000);
		}
		assert_int_equal(contract_write(contract, builder), STORE_STORED);
	}
	counted = count_newest(contract, NOON, NOON + 60 * NSEC_PER_SEC, 1000);
	assert_int_equal(counted.n_batches, 100);
	assert_int_equal(counted.sums[SAMPLES], 5050);
	assert_int_equal(counted.covered_ns, 50 * NSEC_PER_SEC);
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
	struct contract *contract = *state;
	char name[BATCH_MAX_TEXT_BYTES + 1];

	write_counted(contract, EPOCH, 1, NOON + 5 * NSEC_PER_SEC, 1);
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
		assert_int_equal(contract_write(contract, builder), STORE_STORED);
	}
	assert_int_equal(count_rows(contract->folder, "SELECT count(*) FROM counter_name"),
			 COUNTER_NAMES_MAX);
	assert_int_equal(count_newest(contract, NOON, NOON + 60 * NSEC_PER_SEC, 9).sums[SAMPLES],
			 15);
	assert_int_equal(count_newest(contract, NOON, NOON + 60 * NSEC_PER_SEC, 9).sums[LEFT_OUT],
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
	struct contract *contract = *state;
	struct counted counted;

	write_counted(contract, EPOCH, 1, NOON + 5 * NSEC_PER_SEC, 1);
	contract->store = store_free(contract->store);
	make_format_1(contract->folder);

	contract_reopen(contract);
	counted = count_newest(contract, NOON, NOON + 60 * NSEC_PER_SEC, 9);
	assert_int_equal(counted.n_batches, 1);
	assert_int_equal(counted.sums[SAMPLES], 9);
	assert_true(counted.last_delay_ms == INT64_MAX);
	write_counted(contract, EPOCH, 2, NOON + 10 * NSEC_PER_SEC, 1);
	counted = count_newest(contract, NOON, NOON + 60 * NSEC_PER_SEC, 9);
	assert_int_equal(counted.n_batches, 2);
	assert_int_equal(counted.sums[SAMPLES], 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		on_each_engine(the_newest_minutes_of_all_days_and_epochs_are_counted),
		on_each_engine(a_batch_that_overlaps_the_range_is_counted),
		on_each_engine(a_batch_over_midnight_is_counted_once),
		on_each_engine(counters_with_names_that_begin_alike_are_summed),
		on_each_engine(a_minute_of_many_batches_is_read_completely),
		on_sqlite(names_beyond_the_limit_of_a_tenant_are_left_out_and_counted),
		on_sqlite(counters_of_files_of_format_1_are_read_before_and_after_conversion),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
