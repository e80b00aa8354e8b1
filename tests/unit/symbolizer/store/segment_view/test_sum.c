/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/symbolizer/store/segment_view/view_fixture.h"

static const uint64_t three_hours[2] = { FIRST_SLOT, FIRST_SLOT + 3 * SLOTS_PER_HOUR };

/* Adds three hours, each as segments of which some overlap in time. */
static void add_hours(struct view_test *test, uint64_t random)
{
	for (unsigned int i = 0; i < 3; i++) {
		const uint64_t hour[2] = { FIRST_SLOT + i * SLOTS_PER_HOUR,
					   FIRST_SLOT + (i + 1) * SLOTS_PER_HOUR };

		for (unsigned int k = 0; k < 2; k++) {
			struct model model = {};

			model_add_random(&model, &random, 1500, hour);
			view_add_model(test, &model, k == 0 ? PART_ENCODED : PART_DECODED, NULL);
			vec_release(&model);
		}
	}
}

static void sums_equal_those_of_the_rows(void **state)
{
	static const uint64_t ranges[][2] = {
		{ FIRST_SLOT, FIRST_SLOT + 3 * SLOTS_PER_HOUR },
		{ FIRST_SLOT + 1234, FIRST_SLOT + 90000 },
		{ FIRST_SLOT + SLOTS_PER_HOUR - 7000, FIRST_SLOT + SLOTS_PER_HOUR + 7000 },
		{ FIRST_SLOT - 10, FIRST_SLOT },
		{ 0, UINT64_MAX },
	};
	struct view_test *test = *state;

	add_hours(test, 1);
	for (size_t i = 0; i < ARRAY_SIZE(ranges); i++) {
		struct store_sum_query query;

		view_select(test, ranges[i]);
		query = sum_query(test, ranges[i]);
		assert_view_sums(test, &query);
		query.last_slots = true;
		assert_view_sums(test, &query);
		query.without_stacks = true;
		assert_view_sums(test, &query);
		query.last_slots = false;
		assert_view_sums(test, &query);
	}
}

static void sums_of_steps_equal_those_of_the_rows(void **state)
{
	static const struct {
		uint64_t range[2], step_slots;
	} cases[] = {
		{ { FIRST_SLOT, FIRST_SLOT + 3 * SLOTS_PER_HOUR }, 6000 },
		{ { FIRST_SLOT + 1234, FIRST_SLOT + 90001 }, 7 },
		{ { FIRST_SLOT - 10, FIRST_SLOT + SLOTS_PER_HOUR + 1 }, 10 * SLOTS_PER_HOUR },
		{ { FIRST_SLOT + 500, FIRST_SLOT + 600 }, 1 },
	};
	struct view_test *test = *state;

	add_hours(test, 6);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct store_sum_query query;

		view_select(test, cases[i].range);
		query = sum_query(test, cases[i].range);
		query.without_stacks = true;
		query.step_slots = cases[i].step_slots;
		assert_view_sums(test, &query);
	}
}

static void only_the_last_values_of_a_stack_count(void **state)
{
	static const uint64_t ranges[][2] = {
		{ FIRST_SLOT, FIRST_SLOT + 3 * SLOTS_PER_HOUR },
		{ FIRST_SLOT + 1000, FIRST_SLOT + 100000 },
	};
	struct view_test *test = *state;

	add_hours(test, 2);
	for (size_t i = 0; i < ARRAY_SIZE(ranges); i++) {
		struct store_sum_query query;

		view_select(test, ranges[i]);
		query = sum_query(test, ranges[i]);
		query.policy = STORE_SUM_LAST;
		assert_view_sums(test, &query);
		query.without_stacks = true;
		assert_view_sums(test, &query);
	}
}

static void rows_of_the_newest_slot_are_added_and_zero_closes(void **state)
{
	struct view_test *test = *state;
	struct model first = {}, second = {};
	struct store_sum_query query;

	/* Two parts have rows of the newest slot of process 0. Process 1 ends with zero. */
	assert_ok(vec_push(&first, (struct model_row){ .slot = FIRST_SLOT, .value = 100 }));
	assert_ok(vec_push(&first, (struct model_row){ .slot = FIRST_SLOT + 9, .value = 5 }));
	assert_ok(vec_push(&first,
			   (struct model_row){ .process = 1, .slot = FIRST_SLOT, .value = 7 }));
	assert_ok(vec_push(&second, (struct model_row){ .slot = FIRST_SLOT + 9, .value = 6 }));
	assert_ok(vec_push(&second,
			   (struct model_row){ .process = 1, .slot = FIRST_SLOT + 3, .value = 0 }));
	view_add_model(test, &first, PART_ENCODED, NULL);
	view_add_model(test, &second, PART_ENCODED, NULL);
	view_select(test, three_hours);
	query = sum_query(test, three_hours);
	query.policy = STORE_SUM_LAST;
	assert_view_sums(test, &query);
	vec_release(&first);
	vec_release(&second);
}

static void values_above_max_items_are_kept_as_other_stacks(void **state)
{
	struct view_test *test = *state;
	struct store_sum_query query;
	struct store_sums all, few;
	uint64_t range[2], total = 0, total_few = 0;
	bool has_other = false;

	add_hours(test, 3);
	view_select(test, three_hours);
	query = sum_query(test, three_hours);
	assert_ok(segment_view_sum(test->view, &query, &all, range));
	query.max_items = 10;
	assert_ok(segment_view_sum(test->view, &query, &few, range));
	for (size_t i = 0; i < all.count; i++)
		total += all.items[i].value;
	for (size_t i = 0; i < few.count; i++) {
		total_few += few.items[i].value;
		has_other |= few.items[i].stack == STORE_OTHER_STACKS;
	}
	assert_true(few.count <= 10 + N_PROCESSES && has_other);
	assert_true(total == total_few);
	store_sums_release(&all);
	store_sums_release(&few);
}

static void a_sum_above_64_bits_ends_at_the_highest_value(void **state)
{
	struct view_test *test = *state;
	struct store_sum_query query;
	struct store_sums sums;
	struct model model = {};
	uint64_t range[2];

	for (unsigned int i = 0; i < 3; i++)
		assert_ok(vec_push(&model, (struct model_row){ .slot = FIRST_SLOT + i,
							       .value = UINT64_MAX / 2 }));
	view_add_model(test, &model, PART_ENCODED, NULL);
	view_select(test, three_hours);
	query = sum_query(test, three_hours);
	assert_ok(segment_view_sum(test->view, &query, &sums, range));
	assert_int_equal(sums.count, 1);
	assert_true(sums.items[0].value == UINT64_MAX);
	store_sums_release(&sums);
	vec_release(&model);
}

static void a_cancelled_sum_ends(void **state)
{
	struct view_test *test = *state;
	struct store_sum_query query;
	struct store_sums sums;
	uint64_t range[2];

	add_hours(test, 4);
	view_select(test, three_hours);
	query = sum_query(test, three_hours);
	cancel_request(&test->cancel);
	assert_errno(segment_view_sum(test->view, &query, &sums, range), -ECANCELED);
}

static void a_budget_bounds_the_memory(void **state)
{
	struct view_test *test = *state;
	struct memory_budget budget = { .limit_bytes = 256 * KIB };
	const struct segment_view_options options = {
		.store = { .tenant = "tenant1", .memory = &budget },
		.max_part_bytes = 64 * MIB,
		.max_bytes = 64 * MIB,
	};
	const struct store_series_query query = {};
	const uint64_t hour[2] = { FIRST_SLOT, FIRST_SLOT + SLOTS_PER_HOUR };
	struct store_sum_series selected;
	const struct store_sum_query sum = {
		.series = &selected, .n_series = 1, .from_slot = hour[0], .to_slot = hour[1]
	};
	struct segment_view *view;
	struct store_series *series;
	struct store_sums sums;
	struct segment segment;
	struct model model = {};
	uint64_t random = 5;
	uint64_t range[2];
	size_t count;

	model_add_random(&model, &random, 20000, hour);
	segment = segment_of(&model, test->arena);
	assert_ok(segment_view_new(&options, &view));
	assert_ok(segment_view_add(view,
				   &(struct segment_part){ .bytes = encode(&segment, test->arena),
							   .first_slot = hour[0],
							   .end_slot = hour[1] }));
	/* Series are found without the rows, which do not fit. */
	assert_ok(segment_view_find_series(view, &query, test->arena, &series, &count));
	assert_int_equal(count, 3 * 5 * 3);
	selected = (struct store_sum_series){ .id = series[0].id, .factor = 1 };
	assert_errno(segment_view_sum(view, &sum, &sums, range), -ENOMEM);
	(void)segment_view_free(view);
	assert_int_equal(budget.used_bytes, 0);
	vec_release(&model);
}

int main(void)
{
#define VIEW_TEST(name) cmocka_unit_test_setup_teardown(name, view_setup, view_teardown)
	const struct CMUnitTest tests[] = {
		VIEW_TEST(sums_equal_those_of_the_rows),
		VIEW_TEST(sums_of_steps_equal_those_of_the_rows),
		VIEW_TEST(only_the_last_values_of_a_stack_count),
		VIEW_TEST(rows_of_the_newest_slot_are_added_and_zero_closes),
		VIEW_TEST(values_above_max_items_are_kept_as_other_stacks),
		VIEW_TEST(a_sum_above_64_bits_ends_at_the_highest_value),
		VIEW_TEST(a_cancelled_sum_ends),
		VIEW_TEST(a_budget_bounds_the_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
