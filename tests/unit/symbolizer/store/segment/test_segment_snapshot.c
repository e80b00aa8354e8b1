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

		assert_ok(segment_snapshot_begin(builder, &snapshot));
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
	assert_ok(segment_snapshot_begin(builder, &snapshot));
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_copy_in_pieces_has_the_rows),
		cmocka_unit_test(rows_added_between_the_pieces_are_not_copied),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
