/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/query/share_interval.h"

#include <math.h>

#include "tests/support/unit.h"

static void assert_near(double value, double expected, double error)
{
	if (fabs(value - expected) > error)
		fail_msg("%.9g is not %.9g", value, expected);
}

static void quantiles_are_those_of_tables(void **state)
{
	(void)state;
	assert_near(normal_quantile(0.5), 0, 1e-9);
	assert_near(normal_quantile(0.975), 1.959963985, 1e-8);
	assert_near(normal_quantile(0.9995), 3.290526731, 1e-8);
	assert_near(normal_quantile(0.00135), -2.99997699, 1e-6);
	assert_near(student_quantile(1.959963985, 10), 2.228139, 0.002);
	assert_near(student_quantile(1.959963985, 31), 2.039513, 0.0001);
	assert_near(student_quantile(3.290526731, 31), 3.6335, 0.002);
	assert_near(student_quantile(1.959963985, 1e9), 1.959963985, 1e-6);
}

/* Values of the formula, as in tables of Wilson's interval. */
static void wilson_intervals_contain_zero_and_one(void **state)
{
	struct share_interval interval = share_binomial_interval(0.1, 100, 1.959963985);

	(void)state;
	assert_near(interval.low, 0.055229, 1e-5);
	assert_near(interval.high, 0.174366, 1e-5);
	interval = share_binomial_interval(0, 10, 1.959963985);
	assert_near(interval.low, 0, 1e-12);
	assert_near(interval.high, 0.277533, 1e-5);
	interval = share_binomial_interval(1, 10, 1.959963985);
	assert_near(interval.low, 1 - 0.277533, 1e-5);
	assert_near(interval.high, 1, 1e-12);
	interval = share_binomial_interval(0, 0, 1.96);
	assert_near(interval.low, 0, 0);
	assert_near(interval.high, 1, 0);
}

static void blocks_that_differ_widen_the_interval(void **state)
{
	double even[16], uneven[16], whole[16];
	struct share_estimate steady, phases;
	struct share_interval narrow, wide;

	(void)state;
	for (size_t i = 0; i < 16; i++) {
		whole[i] = 1000;
		even[i] = 100;
		uneven[i] = i % 2 ? 200 : 0;
	}
	steady = share_estimate_make(&(struct share_blocks){ even, whole, 16, 16000 });
	phases = share_estimate_make(&(struct share_blocks){ uneven, whole, 16, 16000 });
	assert_near(steady.share, 0.1, 1e-12);
	assert_near(steady.variance, 0, 1e-15);
	assert_near(phases.share, 0.1, 1e-12);
	/* A deviation of 0.1 in each of 16 blocks, with 15 degrees of freedom. */
	assert_near(sqrt(phases.variance), 0.1 / sqrt(15), 1e-12);
	narrow = share_estimate_interval(&steady, 1.959963985);
	wide = share_estimate_interval(&phases, 1.959963985);
	assert_near(narrow.high - narrow.low, 0.0093, 0.0001);
	assert_near(wide.high - wide.low, 2 * 2.131 * 0.1 / sqrt(15), 0.001);
}

static void few_blocks_have_the_binomial_interval(void **state)
{
	const double part[] = { 0, 20 }, whole[] = { 100, 100 };
	struct share_estimate estimate =
		share_estimate_make(&(struct share_blocks){ part, whole, 2, 200 });
	struct share_interval interval = share_estimate_interval(&estimate, 1.96);
	struct share_interval expected = share_binomial_interval(0.1, 200, 1.96);

	(void)state;
	assert_near(interval.low, expected.low, 1e-12);
	assert_near(interval.high, expected.high, 1e-12);
}

static void values_that_are_no_samples_have_the_interval_of_blocks(void **state)
{
	double part[16], whole[16];
	struct share_estimate estimate;
	struct share_interval interval;

	(void)state;
	for (size_t i = 0; i < 16; i++) {
		whole[i] = 1000;
		part[i] = i % 2 ? 101 : 99;
	}
	estimate = share_estimate_make(&(struct share_blocks){ part, whole, 16, 0 });
	interval = share_estimate_interval(&estimate, 1.96);
	assert_near(interval.low, 0.1 - 2.131 * 0.001 / sqrt(15), 1e-5);
	assert_near(interval.high, 0.1 + 2.131 * 0.001 / sqrt(15), 1e-5);
}

/* Example of Newcombe (1998): 56 of 70 against 48 of 80. */
static void the_interval_of_a_difference_is_newcombes(void **state)
{
	const struct share_estimate base = { .share = 48.0 / 80, .samples = 80 };
	const struct share_estimate after = { .share = 56.0 / 70, .samples = 70 };
	struct share_interval interval = share_change_interval(&base, &after, 1, 1.959963985);

	(void)state;
	assert_near(interval.low, 0.0524, 0.0001);
	assert_near(interval.high, 0.3339, 0.0001);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(quantiles_are_those_of_tables),
		cmocka_unit_test(wilson_intervals_contain_zero_and_one),
		cmocka_unit_test(blocks_that_differ_widen_the_interval),
		cmocka_unit_test(few_blocks_have_the_binomial_interval),
		cmocka_unit_test(values_that_are_no_samples_have_the_interval_of_blocks),
		cmocka_unit_test(the_interval_of_a_difference_is_newcombes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
