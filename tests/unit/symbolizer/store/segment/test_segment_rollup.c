/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/symbolizer/store/segment/segment_fixture.h"

#include "common/hash_table.h"

/* Two hours, of 360 000 slots each. */
#define SLOTS_PER_HOUR UINT64_C(360000)
static const uint64_t first_hour = 17000280000;
static const uint64_t two_hours[2] = { 17000280000, 17001000000 };

struct sum_key {
	uint64_t slot, stack_key;
};

static struct segment roll_up(const struct segment *parts, size_t n_parts, struct arena *arena)
{
	scoped(segment_builder_freep) struct segment_builder *builder = NULL;
	struct segment rollup;

	assert_ok(segment_builder_new(&builder));
	for (size_t i = 0; i < n_parts; i++)
		assert_ok(segment_builder_add_rollup(builder, &parts[i], SLOTS_PER_HOUR));
	assert_ok(segment_builder_finish(builder, arena, &rollup));
	return rollup;
}

static void assert_rollup_of(const struct segment *rollup, const struct model *model)
{
	scoped(hash_table_freep) struct hash_table *expected = NULL;
	uint64_t total = 0, total_of_series = 0;

	assert_ok(hash_table_new(sizeof(struct sum_key), sizeof(uint64_t), 0, &expected));
	for (size_t i = 0; i < model->count; i++) {
		const struct model_row *row = &model->items[i];
		const struct sum_key key = { row->slot - row->slot % SLOTS_PER_HOUR,
					     model_stack_key(row) };
		uint64_t *sum;

		if (row->value == 0)
			continue;
		assert_ok(hash_table_insert(expected, &key, (void **)&sum));
		*sum += model_value(row);
		total += model_value(row);
	}
	assert_int_equal(rollup->column[HEAD_KIND][0], SEGMENT_ROLLUP);
	assert_int_equal(rollup->count[SEGMENT_ROW], hash_table_count(expected));
	for (size_t i = 0; i < rollup->count[SEGMENT_ROW]; i++) {
		const struct sum_key key = {
			rollup->column[ROW_SLOT][i],
			segment_stack_key(rollup, rollup->column[ROW_STACK][i]),
		};
		const uint64_t *sum = hash_table_find(expected, &key);

		assert_non_null(sum);
		assert_true(*sum == rollup->column[ROW_VALUE][i]);
	}
	for (size_t i = 0; i < rollup->count[SEGMENT_TOTAL]; i++)
		total_of_series += rollup->column[TOTAL_VALUE][i];
	assert_true(total_of_series == total);
}

static void a_rollup_has_the_sums_of_the_rows(void **state)
{
	scoped(arena_freep) struct arena *arena = new_arena();
	struct segment segment, rollup;
	struct model model = {};
	uint64_t random = 31;

	(void)state;
	model_add_random(&model, &random, 5000, two_hours);
	segment = segment_of(&model, arena);
	rollup = roll_up(&segment, 1, arena);
	rollup = reread(&rollup, arena);
	assert_rollup_of(&rollup, &model);
	assert_int_equal(rollup.count[SEGMENT_TOTAL], segment.count[SEGMENT_SERIES]);
	vec_release(&model);
}

static void a_rollup_of_parts_equals_that_of_the_whole(void **state)
{
	scoped(arena_freep) struct arena *arena = new_arena();
	struct segment parts[3], rollup;
	struct model all = {};
	uint64_t random = 32;

	(void)state;
	for (unsigned int i = 0; i < ARRAY_SIZE(parts); i++) {
		struct model model = {};

		model_add_random(&model, &random, 700, two_hours);
		parts[i] = segment_of(&model, arena);
		for (size_t k = 0; k < model.count; k++)
			assert_ok(vec_push(&all, model.items[k]));
		vec_release(&model);
	}
	rollup = roll_up(parts, ARRAY_SIZE(parts), arena);
	assert_rollup_of(&rollup, &all);
	vec_release(&all);
}

static void late_rows_are_added_to_an_existing_rollup(void **state)
{
	scoped(segment_builder_freep) struct segment_builder *builder = NULL;
	scoped(arena_freep) struct arena *arena = new_arena();
	struct segment segment, rollups[2], merged;
	struct model all = {};
	uint64_t random = 33;

	(void)state;
	assert_ok(segment_builder_new(&builder));
	for (unsigned int i = 0; i < ARRAY_SIZE(rollups); i++) {
		struct model model = {};

		model_add_random(&model, &random, 900, two_hours);
		segment = segment_of(&model, arena);
		rollups[i] = roll_up(&segment, 1, arena);
		assert_ok(segment_builder_add_segment(builder, &rollups[i]));
		for (size_t k = 0; k < model.count; k++)
			assert_ok(vec_push(&all, model.items[k]));
		vec_release(&model);
	}
	assert_ok(segment_builder_finish(builder, arena, &merged));
	assert_rollup_of(&merged, &all);
	vec_release(&all);
}

static void the_total_of_a_series_has_its_first_and_last_slot(void **state)
{
	scoped(arena_freep) struct arena *arena = new_arena();
	struct segment segment, rollup;
	struct model model = {};

	(void)state;
	for (unsigned int i = 0; i < 3; i++)
		assert_ok(vec_push(&model,
				   (struct model_row){ .slot = first_hour + 10 * i, .value = 2 }));
	segment = segment_of(&model, arena);
	rollup = roll_up(&segment, 1, arena);
	assert_int_equal(rollup.count[SEGMENT_TOTAL], 1);
	assert_int_equal(rollup.column[TOTAL_FIRST_SLOT][0], first_hour);
	assert_int_equal(rollup.column[TOTAL_LAST_SLOT][0], first_hour + 20);
	assert_int_equal(rollup.column[TOTAL_VALUE][0], 6 * MODEL_PERIOD_NS);
	vec_release(&model);
}

static void states_are_never_summed(void **state)
{
	scoped(segment_builder_freep) struct segment_builder *builder = NULL, *rollup = NULL;
	scoped(arena_freep) struct arena *arena = new_arena();
	struct segment segment;
	struct model model = {};

	(void)state;
	builder = builder_of(&model, EVENT_VALUE_STATE);
	assert_ok(segment_builder_finish(builder, arena, &segment));
	assert_ok(segment_builder_new(&rollup));
	assert_errno(segment_builder_add_rollup(rollup, &segment, SLOTS_PER_HOUR), -EINVAL);
}

static void a_sum_above_64_bits_is_an_error(void **state)
{
	scoped(segment_builder_freep) struct segment_builder *builder = NULL;
	scoped(arena_freep) struct arena *arena = new_arena();
	struct segment segment;
	struct model model = {};

	(void)state;
	assert_ok(vec_push(&model, (struct model_row){ .value = UINT64_MAX }));
	segment = segment_of(&model, arena);
	assert_ok(segment_builder_new(&builder));
	assert_errno(segment_builder_add_rollup(builder, &segment, SLOTS_PER_HOUR), -EOVERFLOW);
	vec_release(&model);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_rollup_has_the_sums_of_the_rows),
		cmocka_unit_test(a_rollup_of_parts_equals_that_of_the_whole),
		cmocka_unit_test(late_rows_are_added_to_an_existing_rollup),
		cmocka_unit_test(the_total_of_a_series_has_its_first_and_last_slot),
		cmocka_unit_test(states_are_never_summed),
		cmocka_unit_test(a_sum_above_64_bits_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
