/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/symbolizer/store/segment_view/view_fixture.h"

/*
 * Three hours. The first two have a roll-up each. A late segment of the second hour is not in its
 * roll-up.
 */
static const uint64_t three_hours[2] = { FIRST_SLOT, FIRST_SLOT + 3 * SLOTS_PER_HOUR };

enum samples {
	SAMPLES_KEPT,
	SAMPLES_REMOVED, /* of the roll-ups */
};

static void add_rollup(struct view_test *test, const struct model *model,
		       const struct segment_part *part)
{
	scoped(segment_builder_freep) struct segment_builder *builder = NULL;
	struct segment segment = segment_of(model, test->arena), rollup;

	assert_ok(segment_builder_new(&builder));
	assert_ok(segment_builder_add_rollup(builder, &segment, SLOTS_PER_HOUR));
	assert_ok(segment_builder_finish(builder, test->arena, &rollup));
	view_add_segment(test, &rollup, part);
}

static void add_hours(struct view_test *test, enum samples samples)
{
	uint64_t random = 51;

	for (unsigned int i = 0; i < 4; i++) {
		const uint64_t begin = FIRST_SLOT + MIN(i, 2u) * SLOTS_PER_HOUR;
		const uint64_t slots[2] = { begin, begin + SLOTS_PER_HOUR };
		const struct segment_part rollup = {
			.first_slot = slots[0],
			.end_slot = slots[1],
			.samples_removed = samples == SAMPLES_REMOVED,
		};
		struct model model = {};

		model_add_random(&model, &random, 1500,
				 i == 3 ? (uint64_t[]){ slots[0] - SLOTS_PER_HOUR, slots[0] }
					: slots);
		if (i < 2)
			add_rollup(test, &model, &rollup);
		if (i >= 2 || samples == SAMPLES_KEPT)
			view_add_model(test, &model, PART_ENCODED,
				       &(struct segment_part){ .in_rollup = i < 2 });
		for (size_t k = 0; k < model.count && i < 2 && samples == SAMPLES_REMOVED; k++)
			assert_ok(vec_push(&test->all, model.items[k]));
		vec_release(&model);
	}
}

/* Selects all series in one group. */
static struct store_sum_query whole_service(struct view_test *test, const uint64_t range[2])
{
	struct store_sum_query query;

	view_select(test, range);
	test->selected = arena_alloc_array(test->arena, test->n_series, sizeof(*test->selected));
	assert_non_null(test->selected);
	test->n_selected = test->n_series;
	for (size_t i = 0; i < test->n_series; i++)
		test->selected[i] = (struct store_sum_series){
			.id = test->series[i].id,
			.factor = test->series[i].period_ns ? test->series[i].period_ns : 1,
			.group = 4,
			.marked = host_number(&test->series[i]) == 1,
		};
	query = sum_query(test, range);
	return query;
}

/* The sums of all rows in the range, per stack, are those of the view. Returns the rows it read. */
static uint64_t assert_sums_of_service(struct view_test *test, const struct store_sum_query *query,
				       const uint64_t expected_range[2])
{
	scoped(hash_table_freep) struct hash_table *expected = NULL;
	uint64_t marked = 0, n_rows, range[2], *value;
	struct store_sums sums;

	assert_ok(hash_table_new(sizeof(uint64_t), sizeof(uint64_t), 0, &expected));
	for (size_t i = 0; i < test->all.count; i++) {
		const struct model_row *row = &test->all.items[i];
		uint64_t key = query->without_stacks ? 0 : model_stack_key(row);

		if (row->slot < expected_range[0] || row->slot >= expected_range[1] || !row->value)
			continue;
		assert_ok(hash_table_insert(expected, &key, (void **)&value));
		*value += model_value(row);
		marked += row->host == 1 ? model_value(row) : 0;
	}
	assert_ok(segment_view_sum(test->view, query, &sums, range));
	assert_int_equal(range[0], expected_range[0]);
	assert_int_equal(range[1], expected_range[1]);
	assert_int_equal(sums.count, hash_table_count(expected));
	for (size_t i = 0; i < sums.count; i++) {
		uint64_t key = view_stack_key(test, sums.items[i].stack);

		value = hash_table_find(expected, &key);
		assert_non_null(value);
		assert_true(*value == sums.items[i].value);
		assert_int_equal(sums.items[i].group, 4);
	}
	assert_true(sums.marked_value == marked);
	n_rows = sums.n_rows;
	store_sums_release(&sums);
	return n_rows;
}

static void a_rollup_gives_the_sums_of_its_samples(void **state)
{
	const uint64_t ranges[][2] = {
		{ three_hours[0], three_hours[1] },
		{ FIRST_SLOT - 100, FIRST_SLOT + SLOTS_PER_HOUR },
		{ FIRST_SLOT + 5, FIRST_SLOT + 2 * SLOTS_PER_HOUR + 5 },
		{ FIRST_SLOT + 5, FIRST_SLOT + SLOTS_PER_HOUR - 5 },
	};
	struct view_test *test = *state;

	add_hours(test, SAMPLES_KEPT);
	for (size_t i = 0; i < ARRAY_SIZE(ranges); i++) {
		struct store_sum_query query = whole_service(test, ranges[i]);

		(void)assert_sums_of_service(test, &query, ranges[i]);
		query.without_stacks = true;
		(void)assert_sums_of_service(test, &query, ranges[i]);
	}
}

static void a_rollup_is_read_instead_of_its_samples(void **state)
{
	struct view_test *test = *state;
	struct store_sum_query query;

	add_hours(test, SAMPLES_KEPT);
	query = whole_service(test, three_hours);
	query.without_stacks = true;
	/* A row for each series of the two roll-ups, and the samples of the other segments. */
	assert_in_range(assert_sums_of_service(test, &query, three_hours), 3000, 3000 + 2 * 45);
}

static void samples_are_read_if_not_all_series_are_in_one_group(void **state)
{
	struct view_test *test = *state;
	struct store_sum_query query;

	add_hours(test, SAMPLES_KEPT);
	view_select(test, three_hours);
	query = sum_query(test, three_hours);
	assert_view_sums(test, &query);
	query.last_slots = true;
	assert_view_sums(test, &query);
	query.policy = STORE_SUM_LAST;
	assert_view_sums(test, &query);
}

static void the_range_is_widened_to_rollups_without_samples(void **state)
{
	const uint64_t range[2] = { FIRST_SLOT + 5, FIRST_SLOT + SLOTS_PER_HOUR + 1 };
	const uint64_t widened[2] = { FIRST_SLOT, FIRST_SLOT + 2 * SLOTS_PER_HOUR };
	struct view_test *test = *state;
	struct store_sum_query query;

	add_hours(test, SAMPLES_REMOVED);
	query = whole_service(test, range);
	(void)assert_sums_of_service(test, &query, widened);
	query.without_stacks = true;
	(void)assert_sums_of_service(test, &query, widened);
}

/* The sum of the rows with slots in [from, to). */
static uint64_t sum_of_rows(const struct view_test *test, uint64_t from, uint64_t to)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < test->all.count; i++)
		if (test->all.items[i].slot >= from && test->all.items[i].slot < to)
			sum += model_value(&test->all.items[i]);
	return sum;
}

static void steps_are_sums_of_samples_where_samples_are_left(void **state)
{
	static const uint64_t step_slots[] = { SLOTS_PER_HOUR, SLOTS_PER_HOUR / 2, 6000 };
	struct view_test *test = *state;

	add_hours(test, SAMPLES_KEPT);
	for (size_t i = 0; i < ARRAY_SIZE(step_slots); i++) {
		struct store_sum_query query = whole_service(test, three_hours);
		uint64_t range[2];
		struct store_sums sums;

		query.without_stacks = true;
		query.step_slots = step_slots[i];
		assert_ok(segment_view_sum(test->view, &query, &sums, range));
		/* Only steps of an hour are read from the roll-ups of the first two hours. */
		assert_true((sums.n_rows < 4000) == (step_slots[i] == SLOTS_PER_HOUR));
		for (size_t k = 0; k < sums.count; k++) {
			uint64_t from = FIRST_SLOT + sums.items[k].stack * step_slots[i];

			assert_true(sums.items[k].value ==
				    sum_of_rows(test, from, from + step_slots[i]));
		}
		store_sums_release(&sums);
	}
}

static void an_hour_without_samples_is_divided_among_its_steps(void **state)
{
	/* From the middle of the first hour to the end of the second, which has a late sample. */
	const uint64_t range[2] = { FIRST_SLOT + SLOTS_PER_HOUR / 2,
				    FIRST_SLOT + 2 * SLOTS_PER_HOUR };
	const uint64_t half_hour = SLOTS_PER_HOUR / 2;
	struct view_test *test = *state;
	uint64_t effective[2], steps[3] = {}, first, second;
	struct store_sum_query query;
	struct store_sums sums;

	add_hours(test, SAMPLES_REMOVED);
	query = whole_service(test, range);
	query.without_stacks = true;
	query.step_slots = half_hour;
	first = sum_of_rows(test, FIRST_SLOT, FIRST_SLOT + SLOTS_PER_HOUR);
	second = sum_of_rows(test, FIRST_SLOT + SLOTS_PER_HOUR, range[1]);
	assert_ok(segment_view_sum(test->view, &query, &sums, effective));
	assert_true(effective[0] == range[0] && effective[1] == range[1]);
	assert_int_equal(sums.count, 3);
	for (size_t i = 0; i < sums.count; i++)
		steps[sums.items[i].stack] = sums.items[i].value;
	/* Each series is divided, so each may be rounded. */
	assert_in_range(steps[0], first / 2 - 100, first / 2 + 100);
	assert_true(steps[1] + steps[2] == second);
	store_sums_release(&sums);
}

static void a_part_of_the_series_of_a_rollup_has_other_stacks(void **state)
{
	const uint64_t range[2] = { FIRST_SLOT, FIRST_SLOT + SLOTS_PER_HOUR };
	uint64_t expected[N_PROCESSES] = {}, effective[2];
	struct view_test *test = *state;
	struct store_sum_query query;
	struct store_sums sums;

	add_hours(test, SAMPLES_REMOVED);
	view_select(test, range);
	query = sum_query(test, range);
	for (size_t i = 0; i < test->all.count; i++) {
		const struct model_row *row = &test->all.items[i];

		if (row->slot < range[1])
			expected[row->process] += model_value(row);
	}
	assert_ok(segment_view_sum(test->view, &query, &sums, effective));
	assert_int_equal(sums.count, N_PROCESSES - 1);
	for (size_t i = 0; i < sums.count; i++) {
		assert_true(sums.items[i].stack == STORE_OTHER_STACKS);
		assert_true(sums.items[i].value == expected[sums.items[i].group]);
	}
	store_sums_release(&sums);
}

int main(void)
{
#define VIEW_TEST(name) cmocka_unit_test_setup_teardown(name, view_setup, view_teardown)
	const struct CMUnitTest tests[] = {
		VIEW_TEST(a_rollup_gives_the_sums_of_its_samples),
		VIEW_TEST(a_rollup_is_read_instead_of_its_samples),
		VIEW_TEST(samples_are_read_if_not_all_series_are_in_one_group),
		VIEW_TEST(the_range_is_widened_to_rollups_without_samples),
		VIEW_TEST(steps_are_sums_of_samples_where_samples_are_left),
		VIEW_TEST(an_hour_without_samples_is_divided_among_its_steps),
		VIEW_TEST(a_part_of_the_series_of_a_rollup_has_other_stacks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
