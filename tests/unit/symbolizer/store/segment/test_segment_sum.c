/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/symbolizer/store/segment/segment_fixture.h"

#include "common/hash_table.h"

static const uint64_t hour[2] = { 17000000000, 17000360000 };
static const uint64_t always[2] = { 0, UINT64_MAX };

struct sum_key {
	uint64_t group, stack_key;
};

/* Adds the model's rows: group is the process number, and process 3 is not selected. */
static struct hash_table *model_sums(const struct model *model, const uint64_t range[2])
{
	struct hash_table *sums;

	assert_ok(hash_table_new(sizeof(struct sum_key), sizeof(uint64_t), 0, &sums));
	for (size_t i = 0; i < model->count; i++) {
		const struct model_row *row = &model->items[i];
		const struct sum_key key = { row->process, model_stack_key(row) };
		uint64_t *sum;

		if (row->process == 3 || row->slot < range[0] || row->slot >= range[1] ||
		    row->value == 0)
			continue;
		assert_ok(hash_table_insert(sums, &key, (void **)&sum));
		*sum += model_value(row);
	}
	return sums;
}

static uint32_t *groups_of(const struct segment *segment)
{
	uint32_t *groups = calloc(segment->count[SEGMENT_SERIES] + 1, sizeof(*groups));

	for (size_t i = 0; i < segment->count[SEGMENT_SERIES]; i++) {
		uint64_t process = segment->column[SERIES_PROCESS][i];
		uint32_t number = (uint32_t)segment->column[PROCESS_PID][process] - 100;

		groups[i] = number == 3 ? SEGMENT_NO_GROUP : number;
	}
	return groups;
}

static void assert_sums(const struct segment *segment, const struct model *model,
			const uint64_t range[2])
{
	scoped(hash_table_freep) struct hash_table *expected = model_sums(model, range);
	scoped_free uint32_t *groups = groups_of(segment);
	struct segment_sums sums = {};

	assert_ok(segment_sum_rows(segment, groups, 5, range, &sums));
	assert_int_equal(sums.count, hash_table_count(expected));
	for (size_t i = 0; i < sums.count; i++) {
		const struct segment_sum *sum = &sums.items[i];
		const struct sum_key key = { sum->group, segment_stack_key(segment, sum->stack) };
		const uint64_t *value = hash_table_find(expected, &key);

		assert_non_null(value);
		assert_true(*value == sum->value);
	}
	vec_release(&sums);
}

static void sums_equal_those_of_the_rows(void **state)
{
	static const uint64_t ranges[][2] = {
		{ 0, UINT64_MAX },
		{ 17000100000, 17000200000 },
		{ 17000000000, 17000000001 },
		{ 5, 6 },
	};
	scoped(arena_freep) struct arena *arena = new_arena();
	struct segment segment;
	struct model model = {};
	uint64_t random = 21;

	(void)state;
	model_add_random(&model, &random, 6000, hour);
	segment = segment_of(&model, arena);
	segment = reread(&segment, arena);
	for (size_t i = 0; i < ARRAY_SIZE(ranges); i++)
		assert_sums(&segment, &model, ranges[i]);
	vec_release(&model);
}

static void sums_of_a_merged_segment_equal_those_of_its_parts(void **state)
{
	scoped(segment_builder_freep) struct segment_builder *builder = NULL;
	scoped(arena_freep) struct arena *arena = new_arena();
	struct segment merged;
	struct model all = {};
	uint64_t random = 22;

	(void)state;
	assert_ok(segment_builder_new(&builder));
	for (unsigned int i = 0; i < 4; i++) {
		struct model model = {};
		struct segment part;

		model_add_random(&model, &random, 500, hour);
		part = segment_of(&model, arena);
		assert_ok(segment_builder_add_segment(builder, &part));
		for (size_t k = 0; k < model.count; k++)
			assert_ok(vec_push(&all, model.items[k]));
		vec_release(&model);
	}
	assert_ok(segment_builder_finish(builder, arena, &merged));
	assert_sums(&merged, &all, always);
	vec_release(&all);
}

static void without_groups_all_rows_are_summed(void **state)
{
	scoped(arena_freep) struct arena *arena = new_arena();
	struct segment_sums sums = {};
	struct segment segment;
	struct model model = {};
	uint64_t random = 23, expected = 0, got = 0;

	(void)state;
	model_add_random(&model, &random, 1000, hour);
	for (size_t i = 0; i < model.count; i++)
		expected += model_value(&model.items[i]);
	segment = segment_of(&model, arena);
	assert_ok(segment_sum_rows(&segment, NULL, 1, always, &sums));
	for (size_t i = 0; i < sums.count; i++)
		got += sums.items[i].value;
	assert_true(got == expected);
	vec_release(&sums);
	vec_release(&model);
}

static void a_sum_above_64_bits_is_an_error(void **state)
{
	scoped(arena_freep) struct arena *arena = new_arena();
	struct segment_sums sums = {};
	struct segment segment;
	struct model model = {};

	(void)state;
	for (unsigned int i = 0; i < 2; i++)
		assert_ok(vec_push(&model,
				   (struct model_row){ .thread = 1, .value = UINT64_MAX / 2 + 1 }));
	segment = segment_of(&model, arena);
	assert_errno(segment_sum_rows(&segment, NULL, 1, always, &sums), -EOVERFLOW);
	vec_release(&sums);
	vec_release(&model);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sums_equal_those_of_the_rows),
		cmocka_unit_test(sums_of_a_merged_segment_equal_those_of_its_parts),
		cmocka_unit_test(without_groups_all_rows_are_summed),
		cmocka_unit_test(a_sum_above_64_bits_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
