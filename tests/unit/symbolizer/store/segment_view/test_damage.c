/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/symbolizer/store/segment_view/view_fixture.h"

#include "common/frame.h"
#include "symbolizer/store/segment/segment_layout.h"

static const uint64_t hour[2] = { FIRST_SLOT, FIRST_SLOT + SLOTS_PER_HOUR };

static struct bytes_view random_segment(struct view_test *test, uint64_t seed, size_t count)
{
	struct model model = {};
	struct segment segment;

	model_add_random(&model, &seed, count, hour);
	segment = segment_of(&model, test->arena);
	vec_release(&model);
	return encode(&segment, test->arena);
}

/* A copy with some bytes replaced, and the checksum of the new bytes. */
static struct bytes_view damage(struct view_test *test, struct bytes_view from, uint64_t *random)
{
	uint8_t *bytes = arena_copy(test->arena, from.data, from.size);
	uint64_t checksum;

	assert_non_null(bytes);
	for (unsigned int i = 0; i < 3; i++) {
		size_t at = model_random(random) % (from.size - SEGMENT_PREFIX_BYTES);

		bytes[SEGMENT_PREFIX_BYTES + at] = (uint8_t)model_random(random);
	}
	checksum = hash64_of(bytes + SEGMENT_PREFIX_BYTES, from.size - SEGMENT_PREFIX_BYTES);
	for (unsigned int i = 0; i < 8; i++)
		bytes[SEGMENT_MAGIC_BYTES + 1 + i] = (uint8_t)(checksum >> (8 * i));
	return (struct bytes_view){ bytes, from.size };
}

/* Asks a view for all it has. It may return anything but must not read outside its tables. */
static void ask(struct view_test *test, struct bytes_view bytes)
{
	const struct segment_view_options options = { .store = { .tenant = "tenant1" },
						      .max_part_bytes = 64 * MIB,
						      .max_bytes = 64 * MIB };
	const struct store_series_query query = {};
	scoped(segment_view_freep) struct segment_view *view = NULL;
	scoped(arena_freep) struct arena *arena = new_arena();
	struct store_series *series;
	struct store_sums sums = {};
	struct store_stack stack;
	uint64_t range[2];
	size_t count;

	assert_ok(segment_view_new(&options, &view));
	assert_ok(segment_view_add(
		view, &(struct segment_part){ .bytes = bytes, .end_slot = UINT64_MAX }));
	if (segment_view_find_series(view, &query, arena, &series, &count) < 0)
		return;
	test->selected = arena_alloc_array(arena, count, sizeof(*test->selected));
	assert_non_null(test->selected);
	test->n_selected = count;
	for (size_t i = 0; i < count; i++)
		test->selected[i] = (struct store_sum_series){ .id = series[i].id, .factor = 3 };
	for (unsigned int policy = 0; policy < 2; policy++) {
		struct store_sum_query sum = sum_query(test, (uint64_t[]){ 0, UINT64_MAX });

		sum.policy = policy ? STORE_SUM_LAST : STORE_SUM_ADD;
		if (segment_view_sum(view, &sum, &sums, range) < 0)
			continue;
		for (size_t i = 0; i < sums.count; i++)
			assert_ok(segment_view_load_stacks(view, &sums.items[i].stack, 1, arena,
							   &stack));
		store_sums_release(&sums);
	}
}

static void damaged_bytes_never_crash(void **state)
{
	struct view_test *test = *state;
	struct bytes_view good = random_segment(test, 61, 40);
	uint64_t random = 62;

	for (unsigned int i = 0; i < 2000; i++)
		ask(test, damage(test, good, &random));
}

static void a_damaged_part_is_counted_and_skipped(void **state)
{
	struct view_test *test = *state;
	struct bytes_view bytes = random_segment(test, 63, 100);
	struct segment_part part = { .first_slot = hour[0], .end_slot = hour[1] };
	struct store_sum_query query;
	struct store_sums with, without;
	uint64_t range[2];

	part.bytes = random_segment(test, 64, 500);
	assert_ok(segment_view_add(test->view, &part));
	view_select(test, hour);
	query = sum_query(test, hour);
	assert_ok(segment_view_sum(test->view, &query, &without, range));
	part.bytes = (struct bytes_view){ bytes.data, bytes.size - 1 };
	assert_ok(segment_view_add(test->view, &part));
	view_select(test, hour);
	query = sum_query(test, hour);
	assert_ok(segment_view_sum(test->view, &query, &with, range));
	assert_int_equal(segment_view_damaged(test->view), 1);
	assert_int_equal(with.n_damaged_blocks, 1);
	assert_int_equal(with.count, without.count);
	assert_int_equal(with.n_rows, without.n_rows);
	store_sums_release(&with);
	store_sums_release(&without);
}

static void a_stack_with_too_many_frames_is_damage(void **state)
{
	scoped(segment_builder_freep) struct segment_builder *builder = NULL;
	const struct model_row row = { .slot = FIRST_SLOT, .value = 1 };
	struct view_test *test = *state;
	struct store_sum_query query;
	struct segment segment;
	struct store_sums sums;
	struct model model = {};
	uint64_t node = 0, stack, frame, range[2];

	assert_ok(vec_push(&model, row));
	builder = builder_of(&model, EVENT_VALUE_TIME);
	assert_ok(segment_builder_add(builder, SEGMENT_FRAME, (uint64_t[]){ 1, 0, 5 }, &frame));
	for (unsigned int i = 0; i <= STACK_MAX_FRAMES; i++) {
		assert_ok(segment_builder_add(builder, SEGMENT_NODE, (uint64_t[]){ node, frame },
					      &node));
		node++;
	}
	assert_ok(segment_builder_add(builder, SEGMENT_STACK, (uint64_t[]){ node, 0 }, &stack));
	assert_ok(segment_builder_add(builder, SEGMENT_ROW,
				      (uint64_t[]){ 1, FIRST_SLOT, stack + 1, 7 }, NULL));
	assert_ok(segment_builder_finish(builder, test->arena, &segment));
	view_add_segment(test, &segment,
			 &(struct segment_part){ .first_slot = hour[0], .end_slot = hour[1] });
	view_select(test, hour);
	query = sum_query(test, hour);
	assert_ok(segment_view_sum(test->view, &query, &sums, range));
	assert_int_equal(sums.n_damaged_blocks, 1);
	assert_int_equal(sums.count, 0);
	store_sums_release(&sums);
	vec_release(&model);
}

int main(void)
{
#define VIEW_TEST(name) cmocka_unit_test_setup_teardown(name, view_setup, view_teardown)
	const struct CMUnitTest tests[] = {
		VIEW_TEST(damaged_bytes_never_crash),
		VIEW_TEST(a_damaged_part_is_counted_and_skipped),
		VIEW_TEST(a_stack_with_too_many_frames_is_damage),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
