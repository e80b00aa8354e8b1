/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/query/reduced_sampling.h"

#include "common/arena.h"
#include "tests/support/unit.h"

static const struct store_host hosts[] = { { .id = 1 }, { .id = 2 } };
static const struct store_process processes[] = { { .id = 1, .host = &hosts[0] },
						  { .id = 2, .host = &hosts[1] } };

static void expect(const struct store_series *series, size_t n_series, const bool *expected)
{
	struct arena *arena;
	bool *reduced;

	assert_int_equal(arena_new(MIB, &arena), 0);
	assert_int_equal(reduced_sampling_find(series, n_series, arena, &reduced), 0);
	for (size_t i = 0; i < n_series; i++)
		assert_int_equal(reduced[i], expected[i]);
	arena_free(arena);
}

static void series_of_one_frequency_are_not_reduced(void **state)
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

static void frequencies_of_different_hosts_are_not_compared(void **state)
{
	const struct store_series series[] = {
		{ .process = &processes[0], .period_ns = 10 },
		{ .process = &processes[1], .period_ns = 20 },
	};

	(void)state;
	expect(series, ARRAY_SIZE(series), (bool[]){ false, false });
}

static void series_without_a_period_are_never_reduced(void **state)
{
	const struct store_series series[] = {
		{ .process = &processes[0], .period_ns = 0 },
		{ .process = &processes[0], .period_ns = 10 },
		{ .process = &processes[1], .period_ns = 0 },
	};

	(void)state;
	expect(series, ARRAY_SIZE(series), (bool[]){ false, false, false });
}

static void the_first_host_with_the_label_is_named(void **state)
{
	struct label label = { .name = REDUCED_LABEL, .value = "stacks of waits 1/4" };
	const struct store_host reduced[] = {
		{ .id = 7, .name = "web-7", .labels = &label, .n_labels = 1 },
		{ .id = 8, .name = "web-8", .labels = &label, .n_labels = 1 },
	};
	const struct store_process of[] = { { .host = &hosts[0] },
					    { .host = &reduced[0] },
					    { .host = &reduced[1] } };
	const struct store_series series[] = { { .process = &of[0] },
					       { .process = &of[1] },
					       { .process = &of[1] },
					       { .process = &of[2] } };
	char text[200];

	(void)state;
	assert_int_equal(reduced_sampling_describe_hosts(series, 1, text, sizeof(text)), 0);
	assert_string_equal(text, "");
	assert_int_equal(reduced_sampling_describe_hosts(series, 3, text, sizeof(text)), 0);
	assert_string_equal(
		text,
		"the agent of host 'web-7' has reduced sampling to keep its budget: stacks of "
		"waits 1/4");
	assert_int_equal(reduced_sampling_describe_hosts(series, 4, text, sizeof(text)), 0);
	assert_non_null(strstr(text, "(and 1 more hosts, see /v1/hosts)"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(series_of_one_frequency_are_not_reduced),
		cmocka_unit_test(a_longer_period_than_another_of_the_host_is_reduced),
		cmocka_unit_test(frequencies_of_different_hosts_are_not_compared),
		cmocka_unit_test(series_without_a_period_are_never_reduced),
		cmocka_unit_test(the_first_host_with_the_label_is_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
