/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/symbolizer/store/segment/segment_fixture.h"

#include "symbolizer/store/segment/segment_snapshot.h"

static const uint64_t hour[2] = { 17000000000, 17000360000 };

static struct segment finish(const struct segment_snapshot *snapshot, struct arena *arena)
{
	struct segment segment;

	assert_ok(segment_snapshot_finish(snapshot, arena, &segment));
	return segment;
}

static void copy_all(struct segment_snapshot *snapshot, const struct segment_builder *builder,
		     size_t piece)
{
	unsigned int n_pieces = 1;

	for (; segment_snapshot_copy(snapshot, builder, piece) > 0; n_pieces++)
		assert_true(n_pieces < 100000);
	assert_in_range(n_pieces, segment_snapshot_bytes(snapshot) / (piece + 4096), 100000);
}

static void a_copy_in_pieces_has_the_rows(void **state)
{
	static const size_t pieces[] = { 100, 5000, 100 * MIB };
	scoped(segment_builder_freep) struct segment_builder *builder = NULL;
	scoped(arena_freep) struct arena *arena = new_arena();
	struct model model = {};
	uint64_t random = 81;

	(void)state;
	model_add_random(&model, &random, 3000, hour);
	builder = builder_of(&model, EVENT_VALUE_TIME);
	for (size_t i = 0; i < ARRAY_SIZE(pieces); i++) {
		scoped(segment_snapshot_freep) struct segment_snapshot *snapshot = NULL;
		struct segment segment;

		assert_ok(segment_snapshot_begin(builder, SEGMENT_SNAPSHOT_ALL, &snapshot));
		copy_all(snapshot, builder, pieces[i]);
		segment = finish(snapshot, arena);
		assert_has_rows(&segment, &model);
		for (size_t k = 1; k < segment.count[SEGMENT_ROW]; k++)
			assert_true(
				segment.column[ROW_SERIES][k - 1] < segment.column[ROW_SERIES][k] ||
				(segment.column[ROW_SERIES][k - 1] ==
					 segment.column[ROW_SERIES][k] &&
				 segment.column[ROW_SLOT][k - 1] <= segment.column[ROW_SLOT][k]));
	}
	vec_release(&model);
}

static void rows_added_between_the_pieces_are_not_copied(void **state)
{
	scoped(segment_builder_freep) struct segment_builder *builder = NULL;
	scoped(segment_snapshot_freep) struct segment_snapshot *snapshot = NULL;
	scoped(arena_freep) struct arena *arena = new_arena();
	struct model model = {}, later = {};
	struct segment segment, added;
	uint64_t random = 82;
	int r;

	(void)state;
	model_add_random(&model, &random, 500, hour);
	model_add_random(&later, &random, 3000, hour);
	builder = builder_of(&model, EVENT_VALUE_TIME);
	assert_ok(segment_snapshot_begin(builder, SEGMENT_SNAPSHOT_ALL, &snapshot));
	assert_int_equal(segment_snapshot_copy(snapshot, builder, 2000), 1);
	added = segment_of(&later, arena);
	assert_ok(segment_builder_add_segment(builder, &added));
	do
		r = segment_snapshot_copy(snapshot, builder, 2000);
	while (r > 0);
	assert_int_equal(r, 0);
	segment = finish(snapshot, arena);
	assert_has_rows(&segment, &model);
	vec_release(&model);
	vec_release(&later);
}

static void assert_equal_tables(const struct segment *a, const struct segment *b,
				enum segment_column first, enum segment_column last,
				enum segment_table table)
{
	assert_int_equal(a->count[table], b->count[table]);
	for (unsigned int i = first; i <= last; i++)
		assert_memory_equal(a->column[i], b->column[i], a->count[table] * sizeof(uint64_t));
}

/* Also of a series that was defined, but has no row yet. */
static void a_copy_of_the_spans_has_the_times_of_each_series(void **state)
{
	scoped(segment_builder_freep) struct segment_builder *builder = NULL;
	scoped(arena_freep) struct arena *arena = new_arena();
	struct model model = {};
	struct segment segments[2];
	uint64_t random = 83;

	(void)state;
	model_add_random(&model, &random, 3000, hour);
	builder = builder_of(&model, EVENT_VALUE_TIME);
	assert_ok(segment_builder_add(builder, SEGMENT_SERIES, (uint64_t[]){ 0, 4711, 0, 0, 1, 0 },
				      NULL));
	for (size_t i = 0; i < ARRAY_SIZE(segments); i++) {
		scoped(segment_snapshot_freep) struct segment_snapshot *snapshot = NULL;

		assert_ok(segment_snapshot_begin(
			builder, i ? SEGMENT_SNAPSHOT_SPANS : SEGMENT_SNAPSHOT_ALL, &snapshot));
		copy_all(snapshot, builder, 5000);
		segments[i] = finish(snapshot, arena);
	}
	assert_equal_tables(&segments[0], &segments[1], TOTAL_SERIES, TOTAL_VALUE, SEGMENT_TOTAL);
	assert_equal_tables(&segments[0], &segments[1], SERIES_PROCESS, SERIES_LABELS,
			    SEGMENT_SERIES);
	assert_equal_tables(&segments[0], &segments[1], PROCESS_HOST, PROCESS_LABELS,
			    SEGMENT_PROCESS);
	assert_equal_tables(&segments[0], &segments[1], HOST_ID, HOST_LABELS, SEGMENT_HOST);
	assert_int_equal(segments[1].count[SEGMENT_ROW], 0);
	assert_null(segments[1].column[ROW_SLOT]);
	vec_release(&model);
}

/* The model has rows of each series from the begin to the end of the hour. */
static void spans_decide_unless_a_series_is_on_both_sides_of_a_range(void **state)
{
	scoped(segment_builder_freep) struct segment_builder *builder = NULL;
	struct model model = {};
	uint64_t random = 84;

	(void)state;
	model_add_random(&model, &random, 3000, hour);
	builder = builder_of(&model, EVENT_VALUE_TIME);
	assert_true(segment_builder_spans_decide(builder, hour[0], hour[1]));
	assert_true(segment_builder_spans_decide(builder, hour[0] + 180000, hour[1]));
	assert_true(segment_builder_spans_decide(builder, hour[0], hour[0] + 180000));
	assert_true(segment_builder_spans_decide(builder, 0, hour[0]));
	assert_false(segment_builder_spans_decide(builder, hour[0] + 180000, hour[0] + 180001));
	vec_release(&model);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_copy_in_pieces_has_the_rows),
		cmocka_unit_test(rows_added_between_the_pieces_are_not_copied),
		cmocka_unit_test(a_copy_of_the_spans_has_the_times_of_each_series),
		cmocka_unit_test(spans_decide_unless_a_series_is_on_both_sides_of_a_range),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
