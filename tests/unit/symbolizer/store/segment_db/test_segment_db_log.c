/* SPDX-License-Identifier: Apache-2.0 */
/* The log of batches: which time they cover, and their counters. */

#include "tests/unit/symbolizer/store/segment_db/segment_db_fixture.h"

#include "symbolizer/store/segment_db/batch_block.h"
#include "symbolizer/store/segment_db/batch_scan.h"

#define NEXT_DAY "segments-2026-01-02.db"
#define ONE_DAY  (24 * HOUR)

#define MINUTES(n) ((n)*60 * SECOND)

static const char *const names[] = { "samples_total{}", "stacks_cut_total{",
				     STORE_COUNTERS_LEFT_OUT };

enum { SAMPLES, CUT, LEFT_OUT };

struct counted {
	uint64_t sums[ARRAY_SIZE(names)];
	uint64_t covered_ns, sequences;
	int64_t last_delay_ms;
	size_t n_batches, n_runs;
	uint64_t run;
	uint64_t order[64]; /* sequences of the first batches */
	uint64_t of_agents[4];
};

static int count(void *arg, const struct segment_db_batch *batch)
{
	struct counted *counted = arg;

	for (size_t i = 0; i < ARRAY_SIZE(names) && batch->values; i++)
		counted->sums[i] += batch->values[i];
	counted->covered_ns += batch->closed_wall_ns - batch->opened_wall_ns;
	counted->sequences += batch->sequence;
	counted->last_delay_ms = batch->delay_ms;
	if (counted->n_batches < ARRAY_SIZE(counted->order))
		counted->order[counted->n_batches] = batch->sequence;
	if (batch->agent_index < ARRAY_SIZE(counted->of_agents))
		counted->of_agents[batch->agent_index]++;
	counted->n_batches++;
	counted->n_runs += counted->run != batch->run;
	counted->run = batch->run;
	return 0;
}

/* Of all agents, unless the query has some. Fails if the two scans find different batches. */
static struct counted count_in(struct segment_db *db, struct segment_db_batch_query query)
{
	struct counted counted = {}, covered = {};

	if (!query.tenant)
		query.tenant = "default";
	query.names = names;
	query.n_names = ARRAY_SIZE(names);
	if (query.max_batches == 0)
		query.max_batches = SIZE_MAX;
	assert_ok(segment_db_scan_counters(db, &query, count, &counted));
	assert_ok(segment_db_scan_coverage(db, &query, count, &covered));
	if (query.max_batches == SIZE_MAX) {
		assert_int_equal(counted.covered_ns, covered.covered_ns);
		assert_int_equal(counted.sequences, covered.sequences);
		assert_int_equal(counted.n_batches, covered.n_batches);
	}
	return counted;
}

static struct counted count_between(struct segment_db *db, uint64_t from_ns, uint64_t to_ns)
{
	return count_in(db, (struct segment_db_batch_query){ .from_slot = from_ns / SLOT_NS,
							     .to_slot = to_ns / SLOT_NS });
}

static struct counted count_all(struct segment_db *db)
{
	return count_in(db, (struct segment_db_batch_query){ .to_slot = UINT64_MAX });
}

static struct batch_builder *counted_batch(uint64_t epoch, uint64_t sequence,
					   uint64_t closed_wall_ns, uint64_t value)
{
	struct batch_builder *builder =
		batch_builder_new(1, epoch, sequence, closed_wall_ns - 5 * SECOND, closed_wall_ns);

	batch_builder_counter(builder, "samples_total{}", value);
	return builder;
}

static void write_counted(struct segment_db *db, uint64_t epoch, uint64_t sequence,
			  uint64_t closed_wall_ns, uint64_t value)
{
	assert_int_equal(write_batch(db, counted_batch(epoch, sequence, closed_wall_ns, value)),
			 STORE_STORED);
}

static void compact(struct segment_db *db)
{
	const struct segment_db_compaction compaction = { .closed_slot = UINT64_MAX,
							  .max_merge_bytes = 8 * MIB };
	size_t n_changed;

	assert_ok(segment_db_compact(db, &compaction, &n_changed));
}

/* What is done between the writes and the reads: the result must not change. */
static struct segment_db *log_step(struct segment_db *db, const char *folder, int number)
{
	switch (number) {
	case 1: /* the inbox */
		(void)segment_db_free(db);
		return open_db(folder);
	case 2:
		assert_ok(segment_db_flush(db, NOON));
		return db;
	case 3:
		(void)segment_db_free(db);
		return open_db(folder);
	case 4:
		compact(db);
		return db;
	default:
		return db;
	}
}

enum { N_LOG_STEPS = 5 };

/*
 * The batches have two epochs (runs of the agent), three minutes and two days. The counter of each
 * batch is another power of ten, so a sum shows which batches were counted.
 */
static void the_newest_batches_of_all_days_and_runs_are_counted(void **state)
{
	static const uint64_t expected[] = { 10000, 11000, 11100, 11110, 11111 };
	struct segment_db *db = open_db(*state);

	write_counted(db, EPOCH, 1, MIDNIGHT - 70 * SECOND, 1);
	write_counted(db, EPOCH, 2, MIDNIGHT - 50 * SECOND, 10);
	write_counted(db, EPOCH, 3, MIDNIGHT + 10 * SECOND, 100);
	write_counted(db, EPOCH + 1, 1, MIDNIGHT + 30 * SECOND, 1000);
	write_counted(db, EPOCH + 1, 2, MIDNIGHT + 70 * SECOND, 10000);
	for (int number = 0; number < N_LOG_STEPS; number++) {
		struct counted counted;

		db = log_step(db, *state, number);
		for (size_t i = 0; i < ARRAY_SIZE(expected); i++)
			assert_int_equal(
				count_in(db,
					 (struct segment_db_batch_query){ .to_slot = UINT64_MAX,
									  .max_batches = i + 1 })
					.sums[SAMPLES],
				expected[i]);
		counted = count_all(db);
		assert_int_equal(counted.sequences, 1 + 2 + 3 + 1 + 2);
		assert_int_equal(counted.n_runs, 3); /* one of them on two days */
	}
	(void)segment_db_free(db);
}

/* A loss in such a batch may have happened in the range. */
static void a_batch_that_overlaps_the_range_is_counted(void **state)
{
	struct segment_db *db = open_db(*state);

	for (uint64_t i = 1; i <= 3; i++)
		write_counted(db, EPOCH, i, NOON + 5 * i * SECOND, i);
	for (int number = 0; number < N_LOG_STEPS; number++) {
		db = log_step(db, *state, number);
		assert_int_equal(
			count_between(db, NOON + 6 * SECOND, NOON + 7 * SECOND).sums[SAMPLES], 2);
		assert_int_equal(
			count_between(db, NOON + 5 * SECOND, NOON + 15 * SECOND).sums[SAMPLES], 5);
		assert_int_equal(
			count_between(db, NOON + 15 * SECOND, NOON + 60 * SECOND).n_batches, 0);
		assert_int_equal(count_between(db, NOON - 60 * SECOND, NOON).n_batches, 0);
	}
	(void)segment_db_free(db);
}

/* It is in the file of the day on which it was closed, and found in each range that it overlaps. */
static void a_batch_over_midnight_is_counted_once(void **state)
{
	struct segment_db *db = open_db(*state);
	struct batch_builder *builder =
		batch_builder_new(2, EPOCH, 4, NOON, MIDNIGHT + 3 * ONE_DAY);

	write_counted(db, EPOCH, 1, MIDNIGHT + 2 * SECOND, 7);
	write_counted(db, EPOCH, 2, MIDNIGHT, 10);
	assert_int_equal(write_batch(db, builder), STORE_STORED);
	for (int number = 0; number < N_LOG_STEPS; number++) {
		struct counted counted;

		db = log_step(db, *state, number);
		counted = count_between(db, NOON, MIDNIGHT + 60 * SECOND);
		assert_int_equal(counted.n_batches, 3);
		assert_int_equal(counted.sums[SAMPLES], 17);
		assert_int_equal(count_between(db, NOON, MIDNIGHT).sequences, 1 + 2 + 4);
		assert_int_equal(count_between(db, MIDNIGHT, MIDNIGHT + SECOND).sequences, 1 + 4);
		assert_int_equal(count_between(db, NOON, NOON + SECOND).sequences, 4);
		assert_int_equal(
			count_between(db, MIDNIGHT + ONE_DAY, MIDNIGHT + ONE_DAY + HOUR).sequences,
			4);
	}
	assert_int_equal(query_number(*state, DAY, "SELECT sum(n_batches) FROM batch_block"), 1);
	assert_int_equal(query_number(*state, NEXT_DAY, "SELECT sum(n_batches) FROM batch_block"),
			 1);
	(void)segment_db_free(db);
}

static void counters_with_names_that_begin_alike_are_summed(void **state)
{
	struct segment_db *db = open_db(*state);
	struct batch_builder *builder = batch_of(1, 1, NOON - SECOND, true);

	batch_builder_counter(builder, "stacks_cut_total{reason=\"depth\"}", 5);
	batch_builder_counter(builder, "unknown_to_the_query_total{}", 100);
	batch_builder_counter(builder, "stacks_cut_total{reason=\"bad-frame\"}", 7);
	batch_builder_counter(builder, "samples_total{}", 0);
	assert_int_equal(write_batch(db, builder), STORE_STORED);
	for (int number = 0; number < N_LOG_STEPS; number++) {
		struct counted counted;

		db = log_step(db, *state, number);
		counted = count_all(db);
		assert_int_equal(counted.sums[CUT], 12);
		assert_int_equal(counted.sums[SAMPLES], 0);
		/* It arrived at NOON, also for a server that was started later. */
		assert_int_equal(counted.last_delay_ms, 1000);
		assert_int_equal(counted.covered_ns, 5 * SECOND);
	}
	(void)segment_db_free(db);
}

static void batches_are_selected_by_tenant_and_agent(void **state)
{
	struct segment_db *db = open_db(*state);
	struct hash128 agents[2];

	memset(&agents[0], 3, sizeof(agents[0]));
	memset(&agents[1], 1, sizeof(agents[1]));
	for (uint8_t agent = 1; agent <= 3; agent++)
		for (uint64_t i = 1; i <= agent; i++)
			assert_int_equal(write_batch(db, batch_of(agent, i, NOON, true)),
					 STORE_STORED);
	assert_int_equal(write_batch_in(db, "other", batch_of(1, 9, NOON, true)), STORE_STORED);
	for (int number = 0; number < N_LOG_STEPS; number++) {
		struct segment_db_batch_query query = { .agents = agents,
							.n_agents = 2,
							.to_slot = UINT64_MAX };
		struct counted counted;

		db = log_step(db, *state, number);
		counted = count_in(db, query);
		assert_int_equal(counted.of_agents[0], 3);
		assert_int_equal(counted.of_agents[1], 1);
		query.max_batches = 2;
		counted = count_in(db, query);
		assert_int_equal(counted.of_agents[0], 2);
		assert_int_equal(counted.of_agents[1], 1);
		assert_int_equal(count_all(db).n_batches, 6);
		assert_int_equal(
			count_in(db, (struct segment_db_batch_query){ .tenant = "other",
								      .to_slot = UINT64_MAX })
				.sequences,
			9);
	}
	assert_ok(segment_db_delete_tenant(db, "default", NOON));
	assert_int_equal(count_all(db).n_batches, 0);
	assert_int_equal(query_number(*state, DAY, "SELECT count(*) FROM batch_block"), 1);
	assert_int_equal(query_number(*state, DAY, "SELECT count(*) FROM run"), 1);
	(void)segment_db_free(db);
}

static void batches_without_rows_are_found_after_a_flush(void **state)
{
	struct segment_db *db = open_db(*state);

	for (uint64_t i = 1; i <= 3; i++) {
		write_counted(db, EPOCH, i, NOON + 5 * i * SECOND, 1);
		assert_ok(segment_db_flush(db, NOON));
	}
	assert_int_equal(query_number(*state, DAY, "SELECT max(flush) FROM batch_block"), 3);
	(void)segment_db_free(db);
	db = open_db(*state);
	assert_int_equal(count_all(db).n_batches, 3);
	assert_int_equal(count_all(db).covered_ns, 15 * SECOND);
	(void)segment_db_free(db);
}

/* 40 batches of two hours and two runs, in 10 flushes. */
static void blocks_of_a_closed_hour_become_one(void **state)
{
	const struct segment_db_compaction first_hour = {
		.closed_slot = (NOON + HOUR + SECOND) / SLOT_NS,
		.max_merge_bytes = 8 * MIB,
	};
	struct segment_db *db = open_db(*state);
	size_t n_changed;

	for (uint64_t i = 1; i <= 40; i++) {
		write_counted(db, EPOCH + i % 2, i, NOON + i % 20 * MINUTES(3), i);
		write_counted(db, EPOCH + i % 2, i + 100, NOON + HOUR + i * SECOND, 1000);
		if (i % 4 == 0)
			assert_ok(segment_db_flush(db, NOON));
	}
	assert_int_equal(count_all(db).sums[SAMPLES], 820 + 40000);
	assert_ok(segment_db_compact(db, &first_hour, &n_changed));
	assert_int_equal(query_number(*state, DAY,
				      "SELECT count(*) FROM batch_block"
				      " WHERE is_merged"),
			 2 + 1); /* the batch of NOON is of the hour before */
	assert_int_equal(query_number(*state, DAY,
				      "SELECT count(*) FROM batch_block"
				      " WHERE NOT is_merged"),
			 20);
	assert_int_equal(count_all(db).sums[SAMPLES], 820 + 40000);
	/* A late batch is added to the merged block. */
	write_counted(db, EPOCH, 1000, NOON + MINUTES(30), 7);
	assert_ok(segment_db_flush(db, NOON));
	compact(db);
	assert_int_equal(query_number(*state, DAY, "SELECT count(*) FROM batch_block"), 5);
	assert_int_equal(query_number(*state, DAY, "SELECT max(flush) FROM batch_block"), 11);
	assert_int_equal(count_all(db).sums[SAMPLES], 827 + 40000);
	assert_int_equal(count_all(db).n_batches, 81);
	assert_int_equal(count_all(db).n_runs, 2);
	assert_ok(segment_db_check(db, &n_changed));
	assert_int_equal(n_changed, 0);
	(void)segment_db_free(db);
}

static void the_batches_of_a_run_are_visited_newest_first(void **state)
{
	struct segment_db *db = open_db(*state);
	struct counted counted;

	for (uint64_t i = 1; i <= 9; i++) {
		write_counted(db, EPOCH, i, NOON + i * MINUTES(20), 1);
		if (i == 3 || i == 6)
			assert_ok(segment_db_flush(db, NOON));
		if (i == 3)
			compact(db);
	}
	counted = count_all(db);
	assert_int_equal(counted.n_batches, 9);
	for (uint64_t i = 0; i < 9; i++)
		assert_int_equal(counted.order[i], 9 - i);
	(void)segment_db_free(db);
}

/* Another tenant's names are not affected. Known names stay known. */
static void names_beyond_the_limit_of_a_tenant_are_left_out_and_counted(void **state)
{
	struct segment_db *db = open_db(*state);
	char name[COUNTER_NAME_MAX_BYTES + 2];

	write_counted(db, EPOCH, 1, NOON + 5 * SECOND, 1);
	for (uint64_t i = 2; i <= 3; i++) {
		struct batch_builder *builder = counted_batch(EPOCH, i, NOON + 5 * i * SECOND, 7);

		for (int k = 0; k < 1000; k++) {
			(void)snprintf(name, sizeof(name), "hostile_%d_%d_total{}", (int)i, k);
			batch_builder_counter(builder, name, 5);
		}
		memset(name, 'n', sizeof(name) - 1);
		name[sizeof(name) - 1] = '\0';
		batch_builder_counter(builder, name, 9);
		assert_int_equal(write_batch(db, builder), STORE_STORED);
		/* The memory has room for the names of each flush. */
		assert_int_equal(count_all(db).sums[LEFT_OUT], i - 1);
		if (i == 2)
			assert_ok(segment_db_flush(db, NOON));
	}
	assert_ok(segment_db_flush(db, NOON));
	assert_int_equal(query_number(*state, DAY, "SELECT count(*) FROM counter_name"),
			 COUNTER_NAMES_MAX - 1);
	assert_int_equal(count_all(db).sums[LEFT_OUT], 2 + 2 * 1000 - (COUNTER_NAMES_MAX - 2));
	assert_int_equal(count_all(db).sums[SAMPLES], 15);
	(void)segment_db_free(db);
}

static void a_removed_day_takes_its_batches_along(void **state)
{
	struct segment_db *db = open_db(*state);
	size_t n_removed;

	write_counted(db, EPOCH, 1, NOON, 1);
	write_counted(db, EPOCH, 2, NOON + ONE_DAY, 10);
	assert_ok(segment_db_flush(db, NOON));
	write_counted(db, EPOCH, 3, NOON, 100); /* in memory */
	assert_ok(segment_db_prune(db, NOON + ONE_DAY, &n_removed));
	assert_int_equal(count_all(db).sums[SAMPLES], 10);
	assert_ok(segment_db_flush(db, NOON));
	assert_int_equal(count_all(db).sums[SAMPLES], 10);
	(void)segment_db_free(db);
}

static void damaged_blocks_are_skipped(void **state)
{
	struct segment_db *db = open_db(*state);
	size_t n_faults;

	for (uint64_t i = 1; i <= 3; i++) {
		write_counted(db, EPOCH, i, NOON + i * SECOND, i);
		assert_ok(segment_db_flush(db, NOON));
	}
	run_sql(*state, DAY, "UPDATE batch_block SET times = x'0001' WHERE flush = 2");
	assert_int_equal(count_all(db).sums[SAMPLES], 4);
	assert_ok(segment_db_check(db, &n_faults));
	assert_int_equal(n_faults, 1);
	/* The others are not merged with it, and nothing gets lost. */
	compact(db);
	compact(db);
	assert_int_equal(count_all(db).sums[SAMPLES], 4);
	assert_int_equal(query_number(*state, DAY, "SELECT count(*) FROM batch_block"), 3);
	(void)segment_db_free(db);
}

static void a_flush_that_fails_counts_no_batch_twice(void **state)
{
	struct segment_db *db = open_db(*state);

	write_counted(db, EPOCH, 1, MIDNIGHT - SECOND, 1);
	write_counted(db, EPOCH, 2, MIDNIGHT + SECOND, 10);
	run_sql(*state, "inbox.db",
		"CREATE TRIGGER fail BEFORE UPDATE ON meta BEGIN SELECT RAISE(ABORT, 'test'); END");
	assert_errno(segment_db_flush(db, NOON), -EEXIST);
	assert_int_equal(query_number(*state, DAY, "SELECT count(*) FROM batch_block"), 1);
	assert_int_equal(count_all(db).sums[SAMPLES], 11);
	write_counted(db, EPOCH, 3, MIDNIGHT + 2 * SECOND, 100);
	compact(db);
	assert_int_equal(count_all(db).sums[SAMPLES], 111);
	(void)segment_db_free(db);
	db = open_db(*state);
	assert_int_equal(query_number(*state, DAY, "SELECT count(*) FROM batch_block"), 0);
	assert_int_equal(count_all(db).sums[SAMPLES], 111);
	run_sql(*state, "inbox.db", "DROP TRIGGER fail");
	assert_ok(segment_db_flush(db, NOON));
	assert_int_equal(count_all(db).sums[SAMPLES], 111);
	(void)segment_db_free(db);
}

static int stop(void *arg, const struct segment_db_batch *batch)
{
	(void)arg;
	return batch->sequence == 2 ? -EUCLEAN : 0;
}

static void a_negative_result_ends_the_scan(void **state)
{
	const struct segment_db_batch_query query = { .tenant = "default",
						      .to_slot = UINT64_MAX,
						      .max_batches = 10 };
	struct segment_db *db = open_db(*state);

	for (uint64_t i = 1; i <= 3; i++)
		write_counted(db, EPOCH, i, NOON + i * SECOND, i);
	for (int number = 0; number < N_LOG_STEPS; number++) {
		db = log_step(db, *state, number);
		assert_errno(segment_db_scan_counters(db, &query, stop, NULL), -EUCLEAN);
		assert_errno(segment_db_scan_coverage(db, &query, stop, NULL), -EUCLEAN);
	}
	(void)segment_db_free(db);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		in_folder(the_newest_batches_of_all_days_and_runs_are_counted),
		in_folder(a_batch_that_overlaps_the_range_is_counted),
		in_folder(a_batch_over_midnight_is_counted_once),
		in_folder(counters_with_names_that_begin_alike_are_summed),
		in_folder(batches_are_selected_by_tenant_and_agent),
		in_folder(batches_without_rows_are_found_after_a_flush),
		in_folder(blocks_of_a_closed_hour_become_one),
		in_folder(the_batches_of_a_run_are_visited_newest_first),
		in_folder(names_beyond_the_limit_of_a_tenant_are_left_out_and_counted),
		in_folder(a_removed_day_takes_its_batches_along),
		in_folder(damaged_blocks_are_skipped),
		in_folder(a_flush_that_fails_counts_no_batch_twice),
		in_folder(a_negative_result_ends_the_scan),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
