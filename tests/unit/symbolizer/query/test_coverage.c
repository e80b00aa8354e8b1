/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/unit.h"

#include "common/limits.h"
#include "symbolizer/query/coverage.h"

/* A view with coverage only. */
static const struct batch_time {
	uint32_t host;
	uint64_t first_slot, last_slot;
} batch_times[] = {
	{ 1, 100, 149 }, { 1, 150, 199 }, { 1, 300, 349 }, { 2, 120, 219 }, { 3, 0, 1000 },
};

static int scan_coverage(struct store_view *view, const uint32_t *hosts, size_t count,
			 uint64_t from_slot, uint64_t to_slot, store_coverage_function function,
			 void *arg)
{
	int r = 0;

	(void)view;
	for (size_t i = 0; i < ARRAY_SIZE(batch_times); i++) {
		const struct batch_time *time = &batch_times[i];

		for (size_t k = 0; r == 0 && k < count; k++)
			if (time->host == hosts[k] && time->first_slot < to_slot &&
			    time->last_slot >= from_slot)
				r = function(arg, time->host, time->first_slot, time->last_slot);
	}
	return r;
}

static const struct store_view_operations operations = { .scan_coverage = scan_coverage };
static const struct store_view_operations without = {};

static void time_covered_by_several_agents_counts_once(void **state)
{
	static const struct {
		uint32_t hosts[2];
		size_t n_hosts;
		uint64_t from_slot, to_slot, slots;
	} cases[] = {
		{ { 1 }, 1, 0, 1000, 150 },    { { 1, 2 }, 2, 0, 1000, 170 },
		{ { 1 }, 1, 120, 160, 40 },    { { 1, 3 }, 2, 0, 500, 500 },
		{ { 1, 2 }, 2, 220, 300, 0 },  { { 4 }, 1, 0, 1000, 0 },
		{ { 2, 1 }, 2, 210, 310, 20 },
	};
	struct store_view view = { .operations = &operations };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct coverage coverage = {
			.from_slot = cases[i].from_slot,
			.to_slot = cases[i].to_slot,
		};
		uint64_t slots = 1;

		assert_ok(coverage_add_hosts(&coverage, &view, cases[i].hosts, cases[i].n_hosts,
					     &slots));
		assert_int_equal(slots, cases[i].slots);
		assert_int_equal(coverage_of_all(&coverage), cases[i].slots);
		coverage_release(&coverage);
	}
}

static void hosts_added_one_by_one_keep_their_own_time(void **state)
{
	static const uint32_t hosts[] = { 1, 2 };
	struct coverage coverage = { .to_slot = 1000 };
	struct store_view view = { .operations = &operations };
	uint64_t slots = 0;

	(void)state;
	assert_ok(coverage_add_hosts(&coverage, &view, &hosts[0], 1, &slots));
	assert_int_equal(slots, 150);
	assert_ok(coverage_add_hosts(&coverage, &view, &hosts[1], 1, &slots));
	assert_int_equal(slots, 100);
	assert_int_equal(coverage_of_all(&coverage), 170);
	coverage_release(&coverage);
}

static void more_batches_than_can_be_read_are_refused(void **state)
{
	static const uint32_t host = 1;
	struct coverage coverage = { .to_slot = 1000, .n_batches = COVERAGE_MAX_BATCHES - 3 };
	struct store_view view = { .operations = &operations };
	uint64_t slots = 0;

	(void)state;
	assert_ok(coverage_add_hosts(&coverage, &view, &host, 1, &slots));
	assert_int_equal(coverage_add_hosts(&coverage, &view, &host, 1, &slots), -E2BIG);
	coverage_release(&coverage);
}

static void coverage_is_unknown_in_an_engine_without_it(void **state)
{
	static const uint32_t host = 1;
	struct coverage coverage = { .to_slot = 1000 };
	struct store_view view = { .operations = &without };
	uint64_t slots = 1;

	(void)state;
	assert_ok(coverage_add_hosts(&coverage, &view, &host, 1, &slots));
	assert_int_equal(slots, 0);
}

static void covered_seconds_are_rounded_but_not_to_zero(void **state)
{
	(void)state;
	assert_int_equal(coverage_seconds(0), 0);
	assert_int_equal(coverage_seconds(1), 1);
	assert_int_equal(coverage_seconds(149), 1);
	assert_int_equal(coverage_seconds(150), 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(time_covered_by_several_agents_counts_once),
		cmocka_unit_test(hosts_added_one_by_one_keep_their_own_time),
		cmocka_unit_test(more_batches_than_can_be_read_are_refused),
		cmocka_unit_test(coverage_is_unknown_in_an_engine_without_it),
		cmocka_unit_test(covered_seconds_are_rounded_but_not_to_zero),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
