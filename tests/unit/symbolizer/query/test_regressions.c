/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All seeds are fixed, so that a run has the same samples every time.
 */

#include <math.h>

#include "tests/unit/symbolizer/query/synthetic_shares.h"

#define RUNS 50

/* At this number, the growth of "hot" by 5 % is ten deviations. */
#define ENOUGH_SAMPLES 640000

static void assert_nothing_else(const struct regressions *found, size_t expected)
{
	for (size_t i = expected; i < found->count; i++)
		print_message("%s: kind %d, %+.4f points\n", found->rows[i].label,
			      found->rows[i].kind, 100 * found->rows[i].change);
	assert_int_equal(found->count, expected);
}

static void a_function_slowed_by_5_percent_is_the_only_row_in_50_runs(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= RUNS; seed++) {
		struct synthetic_result result;
		struct synthetic model;
		const struct regression *row;

		synthetic_server(&model, ENOUGH_SAMPLES, seed);
		synthetic_scale(&model.stacks[0], 1.05);
		synthetic_find(&model, &result);
		assert_nothing_else(&result.found, 1);
		row = &result.found.rows[0];
		assert_string_equal(row->label, "hot");
		assert_int_equal(row->kind, REGRESSION_REGRESSED);
		assert_false(row->by_total);
		/* The interval contains the true shares and the true change. */
		assert_true(row->base_interval.low < 0.20 && 0.20 < row->base_interval.high);
		assert_true(row->after_interval.low < 0.21 / 1.01 &&
			    0.21 / 1.01 < row->after_interval.high);
		assert_true(row->change_interval.low > 0);
		assert_true(row->change_interval.low < 0.01 && 0.01 < row->change_interval.high);
		assert_true(fabs(row->growth - 0.05) < 0.03);
		synthetic_release(&result);
	}
}

static void without_a_change_nothing_is_reported_in_200_runs(void **state)
{
	(void)state;
	for (uint64_t seed = 1001; seed <= 1200; seed++) {
		struct synthetic_result result;
		struct synthetic model;

		synthetic_server(&model, 50000, seed);
		synthetic_find(&model, &result);
		assert_nothing_else(&result.found, 0);
		synthetic_release(&result);
	}
}

/* 50 samples in a row are of the same stack: there is 1 independent sample in 50. */
static void phases_of_a_program_are_no_regressions(void **state)
{
	(void)state;
	for (uint64_t seed = 2001; seed <= 2000 + RUNS; seed++) {
		struct synthetic_result result;
		struct synthetic model;

		synthetic_server(&model, ENOUGH_SAMPLES, seed);
		model.run_length = 50;
		synthetic_find(&model, &result);
		assert_nothing_else(&result.found, 0);
		synthetic_release(&result);
	}
}

static void a_function_that_became_faster_is_no_regression_of_the_others(void **state)
{
	struct synthetic_result result;
	struct synthetic model;

	(void)state;
	synthetic_server(&model, ENOUGH_SAMPLES, 3);
	synthetic_scale(&model.stacks[0], 0.5);
	synthetic_find(&model, &result);
	assert_nothing_else(&result.found, 1);
	assert_string_equal(result.found.rows[0].label, "hot");
	assert_int_equal(result.found.rows[0].kind, REGRESSION_IMPROVED);
	assert_true(fabs(result.found.rows[0].growth + 0.5) < 0.02);
	synthetic_release(&result);
}

static void cost_of_a_renamed_function_has_moved(void **state)
{
	const struct regression *row;
	struct synthetic_result result;
	struct synthetic model;
	struct synthetic_stack *renamed;

	(void)state;
	synthetic_server(&model, ENOUGH_SAMPLES, 4);
	renamed = synthetic_add(&model, "_start;main;serve;handler_0;hot_v2", 0.20);
	renamed->cost[0][0] = renamed->cost[0][1] = 0;
	synthetic_scale(&model.stacks[0], 0);
	synthetic_find(&model, &result);
	assert_int_equal(synthetic_count(&result.found, REGRESSION_REGRESSED, &row), 0);
	assert_int_equal(synthetic_count(&result.found, REGRESSION_MOVED, &row), 1);
	assert_string_equal(row->label, "hot_v2");
	assert_string_equal(row->within, "handler_0");
	assert_true(isinf(row->growth));
	assert_int_equal(synthetic_count(&result.found, REGRESSION_IMPROVED, &row), 1);
	assert_string_equal(row->label, "hot");
	synthetic_release(&result);
}

/* The functions below "warm" are known before and after; their callers differ. */
static void cost_of_a_renamed_caller_has_moved(void **state)
{
	const struct regression *row;
	struct synthetic_result result;
	struct synthetic model;

	(void)state;
	synthetic_server(&model, ENOUGH_SAMPLES, 5);
	for (int i = 0; i < 20; i++) {
		struct synthetic_stack *stack;
		char path[160];

		(void)snprintf(path, sizeof(path), "_start;main;serve;handler_2;old;part_%d", i);
		stack = synthetic_add(&model, path, 0.002);
		stack->cost[1][0] = stack->cost[1][1] = 0;
		(void)snprintf(path, sizeof(path), "_start;main;serve;handler_2;new;part_%d", i);
		stack = synthetic_add(&model, path, 0.002);
		stack->cost[0][0] = stack->cost[0][1] = 0;
	}
	synthetic_find(&model, &result);
	assert_int_equal(synthetic_count(&result.found, REGRESSION_REGRESSED, &row), 0);
	assert_int_equal(synthetic_count(&result.found, REGRESSION_MOVED, &row), 1);
	assert_string_equal(row->label, "new");
	assert_true(row->by_total);
	synthetic_release(&result);
}

static void a_regression_beside_a_moved_function_is_found(void **state)
{
	const struct regression *row;
	struct synthetic_result result;
	struct synthetic model;
	struct synthetic_stack *renamed;

	(void)state;
	synthetic_server(&model, ENOUGH_SAMPLES, 6);
	renamed = synthetic_add(&model, "_start;main;serve;handler_1;warm_v2", 0.05);
	renamed->cost[0][0] = renamed->cost[0][1] = 0;
	synthetic_scale(&model.stacks[1], 0);
	synthetic_scale(&model.stacks[0], 1.1);
	synthetic_find(&model, &result);
	assert_int_equal(synthetic_count(&result.found, REGRESSION_REGRESSED, &row), 1);
	assert_string_equal(row->label, "hot");
	assert_int_equal(synthetic_count(&result.found, REGRESSION_MOVED, &row), 1);
	assert_string_equal(row->label, "warm_v2");
	synthetic_release(&result);
}

static void growth_that_ended_went_away(void **state)
{
	struct synthetic_result result;
	struct synthetic model;

	(void)state;
	synthetic_server(&model, ENOUGH_SAMPLES, 7);
	model.stacks[0].cost[1][0] *= 1.3;
	synthetic_find(&model, &result);
	assert_nothing_else(&result.found, 1);
	assert_string_equal(result.found.rows[0].label, "hot");
	assert_int_equal(result.found.rows[0].kind, REGRESSION_WENT_AWAY);
	synthetic_release(&result);
}

/* Each of 40 leaves grows by less than its noise; the function that calls them does not. */
static void growth_spread_over_callees_is_reported_for_their_caller(void **state)
{
	struct synthetic_result result;
	struct synthetic model;

	(void)state;
	synthetic_server(&model, ENOUGH_SAMPLES, 8);
	for (int i = 0; i < 40; i++) {
		char path[160];

		(void)snprintf(path, sizeof(path), "_start;main;serve;handler_3;parse;rule_%d", i);
		synthetic_scale(synthetic_add(&model, path, 0.002), 1.12);
	}
	synthetic_find(&model, &result);
	assert_nothing_else(&result.found, 1);
	assert_string_equal(result.found.rows[0].label, "parse");
	assert_true(result.found.rows[0].by_total);
	assert_int_equal(result.found.rows[0].kind, REGRESSION_REGRESSED);
	synthetic_release(&result);
}

/* Prints the table of docs/http-api.md: the smallest growth that is found in at least 19 of 20
 * runs. With HEARTH_REGRESSION_TABLE=1 only, because it takes a minute. */
static void the_smallest_regressions_found_are_printed(void **state)
{
	static const uint32_t samples[] = { 10000, 100000, 1000000 };

	(void)state;
	if (!getenv("HEARTH_REGRESSION_TABLE"))
		skip();
	for (size_t s = 0; s < ARRAY_SIZE(samples); s++) {
		for (size_t stack = 0; stack < 2; stack++) {
			double growth = 0.01;

			for (unsigned int found = 0; found < 19; growth *= 1.1) {
				found = 0;
				for (uint64_t seed = 1; seed <= 20; seed++) {
					struct synthetic_result result;
					const struct regression *row;
					struct synthetic model;

					synthetic_server(&model, samples[s], seed);
					synthetic_scale(&model.stacks[stack], 1 + growth);
					synthetic_find(&model, &result);
					found += synthetic_count(&result.found,
								 REGRESSION_REGRESSED, &row) > 0;
					synthetic_release(&result);
				}
			}
			print_message("%u samples, share %d %%: %.1f %%\n", samples[s],
				      stack == 0 ? 20 : 5, 100 * growth / 1.1);
		}
	}
}

/* Adds stacks of two frames until an error. */
static int add_paths(struct function_shares *shares, unsigned int count)
{
	int r = 0;

	for (unsigned int i = 0; i < count && r == 0; i++) {
		char path[40];

		(void)snprintf(path, sizeof(path), "caller%u;callee%u", i / 16, i);
		r = function_shares_add_path(shares, path, i % FUNCTION_SHARES_COLUMNS, 1);
	}
	return r;
}

static void values_and_functions_are_in_the_memory_budget(void **state)
{
	enum { N_PATHS = 4096, COLUMN_BYTES = FUNCTION_SHARES_COLUMNS * sizeof(double) };
	struct memory_budget budget = { .limit_bytes = GIB };
	struct function_shares *shares;
	uint64_t without_totals;

	(void)state;
	assert_ok(function_shares_new(&budget, &shares));
	assert_ok(add_paths(shares, N_PATHS));
	without_totals = budget.used_bytes;
	assert_true(without_totals > (uint64_t)N_PATHS * COLUMN_BYTES);
	assert_ok(function_shares_finish(shares));
	assert_true(budget.used_bytes > without_totals + (uint64_t)N_PATHS * COLUMN_BYTES);
	(void)function_shares_free(shares);
	assert_int_equal(budget.used_bytes, 0);

	/* The values do not fit. */
	budget.limit_bytes = (uint64_t)N_PATHS * COLUMN_BYTES;
	assert_ok(function_shares_new(&budget, &shares));
	assert_errno(add_paths(shares, N_PATHS), -ENOMEM);
	(void)function_shares_free(shares);

	/* The totals do not fit. */
	budget.limit_bytes = without_totals + (uint64_t)N_PATHS * COLUMN_BYTES;
	assert_ok(function_shares_new(&budget, &shares));
	assert_ok(add_paths(shares, N_PATHS));
	assert_errno(function_shares_finish(shares), -ENOMEM);
	(void)function_shares_free(shares);
	assert_int_equal(budget.used_bytes, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_function_slowed_by_5_percent_is_the_only_row_in_50_runs),
		cmocka_unit_test(without_a_change_nothing_is_reported_in_200_runs),
		cmocka_unit_test(phases_of_a_program_are_no_regressions),
		cmocka_unit_test(a_function_that_became_faster_is_no_regression_of_the_others),
		cmocka_unit_test(cost_of_a_renamed_function_has_moved),
		cmocka_unit_test(cost_of_a_renamed_caller_has_moved),
		cmocka_unit_test(a_regression_beside_a_moved_function_is_found),
		cmocka_unit_test(growth_that_ended_went_away),
		cmocka_unit_test(growth_spread_over_callees_is_reported_for_their_caller),
		cmocka_unit_test(values_and_functions_are_in_the_memory_budget),
		cmocka_unit_test(the_smallest_regressions_found_are_printed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
