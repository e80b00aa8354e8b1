/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/symbolizer/store/segment_db/segment_db_fixture.h"

static const struct segment_db_query all_by_rollups = { .to_slot = UINT64_MAX,
							.prefer_rollups = true };

/* Writes @n batches of the hour before noon, each as a flush. */
static void write_flushes(struct segment_db *db, uint64_t first, uint64_t n)
{
	for (uint64_t i = first; i < first + n; i++) {
		assert_int_equal(write_batch(db, batch_of(1, i, NOON - i * SECOND, i == 1)),
				 STORE_STORED);
		assert_ok(segment_db_flush(db, NOON));
	}
}

static size_t compact_to(struct segment_db *db, uint64_t closed_wall_ns, size_t max_merge_bytes)
{
	const struct segment_db_compaction compaction = { .closed_slot = closed_wall_ns / SLOT_NS,
							  .max_merge_bytes = max_merge_bytes };
	size_t n_changed;

	assert_ok(segment_db_compact(db, &compaction, &n_changed));
	return n_changed;
}

static void assert_no_faults(struct segment_db *db)
{
	size_t n_faults;

	assert_ok(segment_db_check(db, &n_faults));
	assert_int_equal(n_faults, 0);
}

static void small_segments_of_a_closed_hour_become_one(void **state)
{
	scoped(segment_db_freep) struct segment_db *db = open_db(*state);

	write_flushes(db, 1, 5);
	assert_int_equal(total(db).n_segments, 10);
	/* A merge and a roll-up of each of two services. */
	assert_int_equal(compact_to(db, NOON, 8 * MIB), 4);
	assert_int_equal(total(db).n_segments, 2);
	assert_batches(db, 5);
	assert_no_faults(db);
	assert_int_equal(compact_to(db, NOON, 8 * MIB), 0);
}

static void an_open_hour_is_merged_when_it_has_many_segments(void **state)
{
	scoped(segment_db_freep) struct segment_db *db = open_db(*state);

	write_flushes(db, 1, 7);
	assert_int_equal(compact_to(db, NOON - HOUR, 8 * MIB), 0);
	write_flushes(db, 8, 1);
	assert_int_equal(compact_to(db, NOON - HOUR, 8 * MIB), 2);
	assert_int_equal(total(db).n_segments, 2);
	assert_int_equal(totals_of(db, &all_by_rollups).n_rollups, 0);
	assert_batches(db, 8);
}

static void a_rollup_stands_for_the_samples_of_a_whole_hour(void **state)
{
	scoped(segment_db_freep) struct segment_db *db = open_db(*state);
	struct segment_db_query query = all_by_rollups;
	struct totals totals;

	write_flushes(db, 1, 3);
	assert_int_equal(totals_of(db, &query).n_rollups, 0);
	(void)compact_to(db, NOON, 8 * MIB);
	totals = totals_of(db, &query);
	assert_int_equal(totals.n_rollups, 2);
	assert_int_equal(totals.n_segments, 0);
	assert_int_equal(totals.sum, 3 * SUM_OF_BATCH);
	query.from_slot = (NOON - HOUR) / SLOT_NS;
	query.to_slot = NOON / SLOT_NS;
	assert_int_equal(totals_of(db, &query).n_rollups, 2);
	query.from_slot++;
	totals = totals_of(db, &query);
	assert_int_equal(totals.n_rollups, 0);
	assert_int_equal(totals.sum, 3 * SUM_OF_BATCH);
}

static void late_samples_make_a_rollup_obsolete_until_it_is_made_again(void **state)
{
	struct segment_db *db = open_db(*state);
	struct totals totals;

	write_flushes(db, 1, 3);
	(void)compact_to(db, NOON, 8 * MIB);
	write_flushes(db, 4, 1);
	totals = totals_of(db, &all_by_rollups);
	assert_int_equal(totals.n_rollups, 0);
	assert_int_equal(totals.sum, 4 * SUM_OF_BATCH);
	(void)segment_db_free(db);
	db = open_db(*state);
	assert_int_equal(compact_to(db, NOON, 8 * MIB), 4);
	totals = totals_of(db, &all_by_rollups);
	assert_int_equal(totals.n_rollups, 2);
	assert_int_equal(totals.n_segments, 0);
	assert_int_equal(totals.sum, 4 * SUM_OF_BATCH);
	assert_no_faults(db);
	(void)segment_db_free(db);
}

static void states_are_merged_but_have_no_rollup(void **state)
{
	static const struct batch_event_type type = { "threads", "threads", EVENT_VALUE_STATE };
	scoped(segment_db_freep) struct segment_db *db = open_db(*state);

	for (uint64_t i = 1; i <= 2; i++) {
		struct batch_builder *builder =
			batch_builder_new(1, EPOCH, i, NOON - 5 * SECOND, NOON);

		batch_builder_use_format_2(builder);
		batch_builder_process(builder, 1, 4711, 99, "web", 0);
		batch_builder_described_series(builder, 1, 1, 4711, &type);
		batch_builder_row(builder, 1, 0, NOON - i * SECOND, 7);
		assert_int_equal(write_batch(db, builder), STORE_STORED);
		assert_ok(segment_db_flush(db, NOON));
	}
	assert_int_equal(compact_to(db, NOON, 8 * MIB), 1);
	assert_int_equal(total(db).n_segments, 1);
	assert_int_equal(total(db).sum, 14);
	assert_int_equal(totals_of(db, &all_by_rollups).n_rollups, 0);
}

static void a_rollup_of_zeros_is_made_once(void **state)
{
	static const struct batch_event_type type = { "calls", "calls", EVENT_VALUE_TIME };
	scoped(segment_db_freep) struct segment_db *db = open_db(*state);
	struct batch_builder *builder = batch_builder_new(1, EPOCH, 1, NOON - 5 * SECOND, NOON);
	size_t n_removed, n_left;

	batch_builder_use_format_2(builder);
	batch_builder_process(builder, 1, 4711, 99, "web", 0);
	batch_builder_described_series(builder, 1, 1, 4711, &type);
	batch_builder_row(builder, 1, 0, NOON - SECOND, 0);
	assert_int_equal(write_batch(db, builder), STORE_STORED);
	assert_ok(segment_db_flush(db, NOON));
	assert_int_equal(compact_to(db, NOON, 8 * MIB), 1);
	assert_int_equal(compact_to(db, NOON, 8 * MIB), 0);
	assert_int_equal(totals_of(db, &all_by_rollups).n_rollups, 1);
	assert_no_faults(db);
	assert_ok(segment_db_remove_samples(db, NOON + 24 * HOUR, &n_removed, &n_left));
	assert_int_equal(n_removed, 1);
	assert_int_equal(n_left, 0);
	assert_int_equal(total(db).n_rows, 0);
	assert_int_equal(totals_of(db, &all_by_rollups).n_rollups, 1);
}

/* A batch with many stacks of its own, so that its segment takes memory. */
static struct batch_builder *large_batch(uint64_t sequence)
{
	struct batch_builder *builder = batch_of(1, sequence, NOON, sequence == 1);

	for (uint32_t i = 0; i < 200; i++) {
		uint32_t number = (uint32_t)sequence * 1000 + i;
		const struct batch_frame frame = { FRAME_NATIVE, 1, number };

		batch_builder_stack(builder, number, STACK_CUT_NONE, &frame, 1);
		batch_builder_row(builder, 1, number, NOON - SECOND, 1);
	}
	return builder;
}

static void an_output_with_the_most_memory_is_followed_by_another(void **state)
{
	scoped(segment_db_freep) struct segment_db *db = open_db(*state);
	struct totals before, after;

	for (uint64_t i = 1; i <= 20; i++) {
		assert_int_equal(write_batch(db, large_batch(i)), STORE_STORED);
		assert_ok(segment_db_flush(db, NOON));
	}
	before = total(db);
	(void)compact_to(db, NOON, 200 * KIB);
	after = total(db);
	assert_true(after.n_segments > 2);
	assert_true(after.n_segments < before.n_segments);
	assert_int_equal(after.n_rows, before.n_rows);
	assert_int_equal(after.sum, before.sum);
	assert_true(totals_of(db, &all_by_rollups).n_rollups > 2);
	assert_int_equal(totals_of(db, &all_by_rollups).sum, before.sum);
	/* It comes to an end. */
	for (int i = 0; i < 10 && compact_to(db, NOON, 200 * KIB) > 0; i++)
		assert_int_equal(total(db).sum, before.sum);
	assert_int_equal(compact_to(db, NOON, 200 * KIB), 0);
	assert_no_faults(db);
}

static void a_failed_step_leaves_the_segments_as_they_were(void **state)
{
	const struct segment_db_compaction compaction = { .closed_slot = NOON / SLOT_NS,
							  .max_merge_bytes = 8 * MIB };
	scoped(segment_db_freep) struct segment_db *db = open_db(*state);
	size_t n_changed;

	write_flushes(db, 1, 3);
	run_sql(*state, DAY,
		"CREATE TRIGGER fail BEFORE INSERT ON content BEGIN SELECT RAISE(ABORT, ''); END");
	assert_errno(segment_db_compact(db, &compaction, &n_changed), -EEXIST);
	assert_int_equal(total(db).n_segments, 6);
	assert_int_equal(total(db).sum, 3 * SUM_OF_BATCH);
	run_sql(*state, DAY, "DROP TRIGGER fail");
	assert_int_equal(compact_to(db, NOON, 8 * MIB), 4);
	assert_batches(db, 3);
}

static void a_compaction_can_be_cancelled(void **state)
{
	struct cancel cancel = {};
	const struct segment_db_compaction compaction = { .closed_slot = NOON / SLOT_NS,
							  .max_merge_bytes = 8 * MIB,
							  .cancel = &cancel };
	scoped(segment_db_freep) struct segment_db *db = open_db(*state);
	size_t n_changed;

	write_flushes(db, 1, 3);
	cancel_request(&cancel);
	assert_errno(segment_db_compact(db, &compaction, &n_changed), -ECANCELED);
	assert_int_equal(total(db).n_segments, 6);
}

static void a_damaged_segment_is_kept_and_the_others_are_read(void **state)
{
	scoped(segment_db_freep) struct segment_db *db = open_db(*state);
	size_t n_faults;

	write_flushes(db, 1, 3);
	run_sql(*state, DAY,
		"UPDATE content SET bytes = x'00' WHERE id ="
		" (SELECT min(id) FROM segment WHERE service = 'db')");
	/* Only the service "web" is merged and rolled up. */
	assert_int_equal(compact_to(db, NOON, 8 * MIB), 2);
	assert_ok(segment_db_check(db, &n_faults));
	assert_int_equal(n_faults, 1);
	assert_int_equal(totals_of(db, &(struct segment_db_query){ .tenant = "default",
								   .service = "web",
								   .to_slot = UINT64_MAX })
				 .sum,
			 3 * WEB_OF_BATCH);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		in_folder(small_segments_of_a_closed_hour_become_one),
		in_folder(an_open_hour_is_merged_when_it_has_many_segments),
		in_folder(a_rollup_stands_for_the_samples_of_a_whole_hour),
		in_folder(late_samples_make_a_rollup_obsolete_until_it_is_made_again),
		in_folder(states_are_merged_but_have_no_rollup),
		in_folder(a_rollup_of_zeros_is_made_once),
		in_folder(an_output_with_the_most_memory_is_followed_by_another),
		in_folder(a_failed_step_leaves_the_segments_as_they_were),
		in_folder(a_compaction_can_be_cancelled),
		in_folder(a_damaged_segment_is_kept_and_the_others_are_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
