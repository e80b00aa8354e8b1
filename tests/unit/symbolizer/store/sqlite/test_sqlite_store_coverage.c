/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/symbolizer/store/sqlite/store_fixture.h"

#include <string.h>

#include "symbolizer/ingest/batch_checks.h"

struct seen {
	uint64_t first_slot, last_slot;
	size_t n_batches;
};

static int add_coverage(void *arg, uint32_t host, uint64_t first_slot, uint64_t last_slot)
{
	struct seen *seen = arg;

	assert_int_equal(host, 1);
	seen->first_slot = seen->n_batches ? MIN(seen->first_slot, first_slot) : first_slot;
	seen->last_slot = MAX(seen->last_slot, last_slot);
	seen->n_batches++;
	return 0;
}

static struct seen coverage_between(struct store *store, uint64_t from_ns, uint64_t to_ns)
{
	static const uint32_t hosts[] = { 1 };
	struct seen seen = {};

	assert_ok(store_scan_coverage(store, hosts, 1, from_ns / SLOT_NS, to_ns / SLOT_NS,
				      add_coverage, &seen));
	return seen;
}

static void idle_time_is_covered_and_a_gap_is_not(void **state)
{
	struct test_clock clock = test_clock_at(NOON);
	scoped(store_freep) struct store *store = open_store(*state, &clock);
	struct batch_builder *idle =
		batch_builder_new(1, EPOCH, 2, NOON + 20 * NSEC_PER_SEC, NOON + 25 * NSEC_PER_SEC);
	struct seen seen;

	assert_int_equal(write_batch(store, batch_at(1, NOON + 5 * NSEC_PER_SEC, true)),
			 STORE_STORED);
	assert_int_equal(write_batch(store, idle), STORE_STORED);

	seen = coverage_between(store, NOON, NOON + 10 * NSEC_PER_SEC);
	assert_int_equal(seen.n_batches, 1);
	assert_int_equal(seen.first_slot, NOON / SLOT_NS);
	assert_int_equal(seen.last_slot, (NOON + 5 * NSEC_PER_SEC) / SLOT_NS - 1);
	assert_int_equal(coverage_between(store, NOON + 6 * NSEC_PER_SEC, NOON + 19 * NSEC_PER_SEC)
				 .n_batches,
			 0);
	seen = coverage_between(store, NOON + 10 * NSEC_PER_SEC, NOON + 60 * NSEC_PER_SEC);
	assert_int_equal(seen.first_slot, (NOON + 20 * NSEC_PER_SEC) / SLOT_NS);
	assert_int_equal(seen.last_slot, (NOON + 25 * NSEC_PER_SEC) / SLOT_NS - 1);
}

static void a_batch_over_midnight_covers_both_days(void **state)
{
	const uint64_t midnight = NOON + 12 * 3600 * NSEC_PER_SEC;
	struct test_clock clock = test_clock_at(midnight);
	scoped(store_freep) struct store *store = open_store(*state, &clock);
	struct batch_builder *builder = batch_builder_new(1, EPOCH, 1, midnight - 3 * NSEC_PER_SEC,
							  midnight + 2 * NSEC_PER_SEC);
	struct seen seen;

	assert_int_equal(write_batch(store, builder), STORE_STORED);
	seen = coverage_between(store, midnight - 60 * NSEC_PER_SEC, midnight + 60 * NSEC_PER_SEC);
	/* The samples of each day have their own database, and both report the batch. */
	assert_int_equal(seen.n_batches, 2);
	assert_int_equal(seen.first_slot, (midnight - 3 * NSEC_PER_SEC) / SLOT_NS);
	assert_int_equal(seen.last_slot, (midnight + 2 * NSEC_PER_SEC) / SLOT_NS - 1);
}

/* An off-CPU row has the slot in which the wait began, which may be before the batch. */
static void rows_before_a_batch_cover_no_time(void **state)
{
	struct test_clock clock = test_clock_at(NOON);
	scoped(store_freep) struct store *store = open_store(*state, &clock);
	struct batch_builder *builder =
		batch_builder_new(1, EPOCH, 1, NOON, NOON + 5 * NSEC_PER_SEC);
	struct seen seen;

	define_all(builder);
	batch_builder_row(builder, 1, 1, NOON - 600 * NSEC_PER_SEC, 1);
	assert_int_equal(write_batch(store, builder), STORE_STORED);
	seen = coverage_between(store, NOON - 3600 * NSEC_PER_SEC, NOON + 60 * NSEC_PER_SEC);
	assert_int_equal(seen.n_batches, 1);
	assert_int_equal(seen.first_slot, NOON / SLOT_NS);
	assert_int_equal(seen.last_slot, (NOON + 5 * NSEC_PER_SEC) / SLOT_NS - 1);
	assert_int_equal(coverage_between(store, NOON - 3600 * NSEC_PER_SEC, NOON).n_batches, 0);
}

struct counted {
	uint64_t sum, covered_ns;
	size_t n_batches, n_counters;
};

static int add_batch(void *arg, uint64_t opened_wall_ns, uint64_t closed_wall_ns)
{
	struct counted *counted = arg;

	counted->covered_ns += closed_wall_ns - opened_wall_ns;
	counted->n_batches++;
	return 0;
}

static int add_counter(void *arg, struct bytes_view name, uint64_t value)
{
	struct counted *counted = arg;

	counted->n_counters++;
	if (name.size == strlen("samples_total{}") &&
	    memcmp(name.data, "samples_total{}", name.size) == 0)
		counted->sum += value;
	return 0;
}

static struct counted count_newest(struct store *store, uint64_t from_ns, uint64_t to_ns,
				   size_t max)
{
	struct counted counted = {};
	const struct store_counter_visitor visitor = { add_batch, add_counter, &counted };

	static const uint32_t hosts[] = { 1 };
	const struct store_counter_query query = {
		hosts, ARRAY_SIZE(hosts), from_ns / SLOT_NS, to_ns / SLOT_NS, max,
	};

	assert_ok(store_scan_counters(store, &query, &visitor));
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

/*
 * The batches have two epochs (runs of the agent) and two days. The counter of each batch is
 * another power of ten, so a sum shows which batches were counted.
 */
static void the_newest_batches_of_all_days_and_epochs_are_counted(void **state)
{
	const uint64_t midnight = NOON + 12 * 3600 * NSEC_PER_SEC;
	struct test_clock clock = test_clock_at(midnight);
	scoped(store_freep) struct store *store = open_store(*state, &clock);
	const uint64_t from = NOON, to = midnight + 3600 * NSEC_PER_SEC;

	write_counted(store, EPOCH, 1, midnight - 60 * NSEC_PER_SEC, 1);
	write_counted(store, EPOCH, 2, midnight - 50 * NSEC_PER_SEC, 10);
	write_counted(store, EPOCH, 3, midnight + 10 * NSEC_PER_SEC, 100);
	write_counted(store, EPOCH + 1, 1, midnight + 30 * NSEC_PER_SEC, 1000);
	write_counted(store, EPOCH + 1, 2, midnight + 40 * NSEC_PER_SEC, 10000);
	assert_int_equal(count_newest(store, from, to, 1).sum, 10000);
	assert_int_equal(count_newest(store, from, to, 3).sum, 11100);
	assert_int_equal(count_newest(store, from, to, 4).sum, 11110);
	assert_int_equal(count_newest(store, from, to, 5).sum, 11111);
}

static void a_batch_at_the_edge_of_the_range_is_not_counted(void **state)
{
	struct test_clock clock = test_clock_at(NOON);
	scoped(store_freep) struct store *store = open_store(*state, &clock);

	for (uint64_t i = 1; i <= 3; i++)
		write_counted(store, EPOCH, i, NOON + 5 * i * NSEC_PER_SEC, i);
	assert_int_equal(
		count_newest(store, NOON + 2 * NSEC_PER_SEC, NOON + 12 * NSEC_PER_SEC, 9).sum, 2);
	assert_int_equal(
		count_newest(store, NOON + 5 * NSEC_PER_SEC, NOON + 15 * NSEC_PER_SEC, 9).sum, 5);
}

static void counters_of_the_newest_batches_are_read(void **state)
{
	struct test_clock clock = test_clock_at(NOON);
	scoped(store_freep) struct store *store = open_store(*state, &clock);
	struct counted all, newest;

	for (uint64_t i = 1; i <= 3; i++) {
		struct batch_builder *builder = batch_at(i, NOON + 5 * i * NSEC_PER_SEC, i == 1);

		batch_builder_counter(builder, "samples_total{}", i);
		assert_int_equal(write_batch(store, builder), STORE_STORED);
	}
	all = count_newest(store, NOON, NOON + 60 * NSEC_PER_SEC, 100);
	assert_int_equal(all.n_batches, 3);
	assert_int_equal(all.sum, 6);
	assert_int_equal(all.covered_ns, 15 * NSEC_PER_SEC);
	newest = count_newest(store, NOON, NOON + 60 * NSEC_PER_SEC, 1);
	assert_int_equal(newest.n_batches, 1);
	assert_int_equal(newest.sum, 3);
}

/*
 * The batch has as many counters as the decoder accepts, and nearly all have names of the maximum
 * length: 16 MiB in total.
 */
static void the_largest_list_of_counters_is_read(void **state)
{
	struct test_clock clock = test_clock_at(NOON);
	scoped(store_freep) struct store *store = open_store(*state, &clock);
	struct batch_builder *builder = batch_at(1, NOON + 5 * NSEC_PER_SEC, true);
	char name[BATCH_MAX_TEXT_BYTES + 1];
	struct counted counted;

	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	for (int i = 1; i < DECODE_MAX_COUNTERS; i++)
		batch_builder_counter(builder, name, 1);
	batch_builder_counter(builder, "samples_total{}", 7);
	assert_int_equal(write_batch(store, builder), STORE_STORED);
	counted = count_newest(store, NOON, NOON + 60 * NSEC_PER_SEC, 1);
	assert_int_equal(counted.n_counters, DECODE_MAX_COUNTERS);
	assert_int_equal(counted.sum, 7);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(idle_time_is_covered_and_a_gap_is_not,
						temp_folder_setup, temp_folder_teardown),
		cmocka_unit_test_setup_teardown(a_batch_over_midnight_covers_both_days,
						temp_folder_setup, temp_folder_teardown),
		cmocka_unit_test_setup_teardown(rows_before_a_batch_cover_no_time,
						temp_folder_setup, temp_folder_teardown),
		cmocka_unit_test_setup_teardown(
			the_newest_batches_of_all_days_and_epochs_are_counted, temp_folder_setup,
			temp_folder_teardown),
		cmocka_unit_test_setup_teardown(a_batch_at_the_edge_of_the_range_is_not_counted,
						temp_folder_setup, temp_folder_teardown),
		cmocka_unit_test_setup_teardown(the_largest_list_of_counters_is_read,
						temp_folder_setup, temp_folder_teardown),
		cmocka_unit_test_setup_teardown(counters_of_the_newest_batches_are_read,
						temp_folder_setup, temp_folder_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
