/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/symbolizer/store/segment/segment_fixture.h"

static const uint64_t hour[2] = { 17000000000, 17000360000 };

static void equal_definitions_are_kept_once(void **state)
{
	scoped(segment_builder_freep) struct segment_builder *builder = NULL;
	scoped(arena_freep) struct arena *arena = new_arena();
	const struct model_row row = { .with_stack = true,
				       .n_frames = 3,
				       .frames = { 0, 1000, 2000 },
				       .slot = 5,
				       .value = 1 };
	struct segment segment;
	struct model model = {};

	(void)state;
	for (unsigned int i = 0; i < 10; i++)
		assert_ok(vec_push(&model, row));
	builder = builder_of(&model, EVENT_VALUE_TIME);
	assert_ok(segment_builder_finish(builder, arena, &segment));
	assert_int_equal(segment.count[SEGMENT_ROW], 10);
	assert_int_equal(segment.count[SEGMENT_SERIES], 1);
	assert_int_equal(segment.count[SEGMENT_STACK], 1);
	assert_int_equal(segment.count[SEGMENT_NODE], 3);
	assert_int_equal(segment.count[SEGMENT_FRAME], 3);
	vec_release(&model);
}

static void rows_are_sorted_by_series_and_slot(void **state)
{
	scoped(arena_freep) struct arena *arena = new_arena();
	struct segment segment;
	struct model model = {};
	uint64_t random = 11;

	(void)state;
	model_add_random(&model, &random, 3000, hour);
	segment = segment_of(&model, arena);
	for (size_t i = 1; i < segment.count[SEGMENT_ROW]; i++) {
		uint64_t last = segment.column[ROW_SERIES][i - 1];
		uint64_t series = segment.column[ROW_SERIES][i];

		assert_true(last < series ||
			    (last == series &&
			     segment.column[ROW_SLOT][i - 1] <= segment.column[ROW_SLOT][i]));
	}
	vec_release(&model);
}

static void the_order_in_which_rows_are_added_does_not_matter(void **state)
{
	scoped(arena_freep) struct arena *arena = new_arena();
	struct model model = {}, reversed = {};
	struct segment a, b;
	uint64_t random = 12;

	(void)state;
	model_add_random(&model, &random, 800, hour);
	for (size_t i = model.count; i > 0; i--)
		assert_ok(vec_push(&reversed, model.items[i - 1]));
	a = segment_of(&model, arena);
	b = segment_of(&reversed, arena);
	assert_has_rows(&a, &reversed);
	assert_has_rows(&b, &model);
	/* The order of texts and objects may differ, their number not. */
	assert_memory_equal(a.count, b.count, sizeof(a.count));
	vec_release(&model);
	vec_release(&reversed);
}

static void a_merged_segment_has_the_rows_of_its_parts(void **state)
{
	enum { N_PARTS = 5 };
	scoped(segment_builder_freep) struct segment_builder *builder = NULL;
	scoped(arena_freep) struct arena *arena = new_arena();
	struct segment merged, decoded;
	struct model all = {};
	uint64_t random = 13;

	(void)state;
	assert_ok(segment_builder_new(&builder));
	for (unsigned int i = 0; i < N_PARTS; i++) {
		struct model model = {};
		struct segment part;

		model_add_random(&model, &random, 400 * i, hour);
		part = segment_of(&model, arena);
		part = reread(&part, arena);
		assert_ok(segment_builder_add_segment(builder, &part));
		for (size_t k = 0; k < model.count; k++)
			assert_ok(vec_push(&all, model.items[k]));
		vec_release(&model);
	}
	assert_ok(segment_builder_finish(builder, arena, &merged));
	decoded = reread(&merged, arena);
	assert_segments_equal(&merged, &decoded);
	assert_has_rows(&decoded, &all);
	vec_release(&all);
}

static void segments_of_different_services_are_not_merged(void **state)
{
	scoped(segment_builder_freep) struct segment_builder *builder = NULL;
	scoped(arena_freep) struct arena *arena = new_arena();
	struct segment part;
	struct model model = {};

	(void)state;
	part = segment_of(&model, arena);
	assert_ok(segment_builder_new(&builder));
	builder_add_head(builder, "database", EVENT_VALUE_TIME);
	assert_errno(segment_builder_add_segment(builder, &part), -EINVAL);
}

static void a_segment_without_a_head_is_refused(void **state)
{
	scoped(segment_builder_freep) struct segment_builder *builder = NULL;
	scoped(arena_freep) struct arena *arena = new_arena();
	struct segment segment;

	(void)state;
	assert_ok(segment_builder_new(&builder));
	assert_errno(segment_builder_finish(builder, arena, &segment), -EINVAL);
}

static void a_builder_reports_its_memory(void **state)
{
	scoped(segment_builder_freep) struct segment_builder *builder = NULL;
	struct model model = {};
	uint64_t random = 14;

	(void)state;
	model_add_random(&model, &random, 10000, hour);
	builder = builder_of(&model, EVENT_VALUE_TIME);
	assert_int_equal(segment_builder_count(builder, SEGMENT_ROW), 10000);
	assert_in_range(segment_builder_bytes(builder), 10000 * 32, 8 * MIB);
	vec_release(&model);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(equal_definitions_are_kept_once),
		cmocka_unit_test(rows_are_sorted_by_series_and_slot),
		cmocka_unit_test(the_order_in_which_rows_are_added_does_not_matter),
		cmocka_unit_test(a_merged_segment_has_the_rows_of_its_parts),
		cmocka_unit_test(segments_of_different_services_are_not_merged),
		cmocka_unit_test(a_segment_without_a_head_is_refused),
		cmocka_unit_test(a_builder_reports_its_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
