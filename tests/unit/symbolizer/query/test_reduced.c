/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>

#include <cmocka.h>

#include "common/arena.h"
#include "symbolizer/query/reduced.h"

static const struct store_host hosts[] = { { .id = 1 }, { .id = 2 } };
static const struct store_process processes[] = { { .id = 1, .host = &hosts[0] }, { .id = 2, .host = &hosts[1] } };

static void expect(const struct store_series *series, size_t n_series, const bool *expected)
{
	struct arena *arena;
	bool *reduced;

	assert_int_equal(arena_new(MIB, &arena), 0);
	assert_int_equal(reduced_find(series, n_series, arena, &reduced), 0);
	for (size_t i = 0; i < n_series; i++)
		assert_int_equal(reduced[i], expected[i]);
	arena_free(arena);
}

static void of_one_frequency_nothing_is_reduced(void **state)
{
	const struct store_series series[] = {
		{ .process = &processes[0], .period_ns = 10 },
		{ .process = &processes[0], .period_ns = 10 },
	};

	(void)state;
	expect(series, ARRAY_SIZE(series), (bool[]){ false, false });
	expect(series, 0, NULL);
}

static void a_longer_period_than_another_of_the_host_is_reduced(void **state)
{
	const struct store_series series[] = {
		{ .process = &processes[0], .period_ns = 20 },
		{ .process = &processes[0], .period_ns = 10 },
		{ .process = &processes[0], .period_ns = 40 },
	};

	(void)state;
	expect(series, ARRAY_SIZE(series), (bool[]){ true, false, true });
}

static void hosts_with_different_frequencies_do_not_reduce_each_other(void **state)
{
	const struct store_series series[] = {
		{ .process = &processes[0], .period_ns = 10 },
		{ .process = &processes[1], .period_ns = 20 },
	};

	(void)state;
	expect(series, ARRAY_SIZE(series), (bool[]){ false, false });
}

static void series_without_a_period_are_left_alone(void **state)
{
	const struct store_series series[] = {
		{ .process = &processes[0], .period_ns = 0 },
		{ .process = &processes[0], .period_ns = 10 },
		{ .process = &processes[1], .period_ns = 0 },
	};

	(void)state;
	expect(series, ARRAY_SIZE(series), (bool[]){ false, false, false });
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(of_one_frequency_nothing_is_reduced),
		cmocka_unit_test(a_longer_period_than_another_of_the_host_is_reduced),
		cmocka_unit_test(hosts_with_different_frequencies_do_not_reduce_each_other),
		cmocka_unit_test(series_without_a_period_are_left_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
