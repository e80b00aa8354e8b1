/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shares of blocks are ratios of sums, so that a block with few samples counts little: the variance
 * is that of the residuals part - share * whole.
 */

#include "symbolizer/query/share_interval.h"

#include <math.h>

#include "common/base.h"

/* Bisection: the probability is computed exactly, and no table of coefficients is needed. */
double normal_quantile(double probability)
{
	double low = -40, high = 40;

	for (int i = 0; i < 80; i++) {
		double middle = (low + high) / 2;

		/* erfc() keeps its precision for probabilities near 1. */
		if (erfc(middle / M_SQRT2) / 2 > 1 - probability)
			low = middle;
		else
			high = middle;
	}
	return (low + high) / 2;
}

/* The expansion of Cornish and Fisher; its error is below 1 % with 8 or more degrees of freedom and
 * z up to 4. */
double student_quantile(double z, double freedom)
{
	const double z2 = z * z;

	return z + z * (z2 + 1) / (4 * freedom) +
	       z * ((5 * z2 + 16) * z2 + 3) / (96 * pow(freedom, 2)) +
	       z * (((3 * z2 + 19) * z2 + 17) * z2 - 15) / (384 * pow(freedom, 3));
}

struct share_interval share_binomial_interval(double share, double samples, double z)
{
	const double z2 = z * z;
	double middle, half;

	if (samples <= 0)
		return (struct share_interval){ 0, 1 };
	middle = (share + z2 / (2 * samples)) / (1 + z2 / samples);
	half = z / (1 + z2 / samples) *
	       sqrt(share * (1 - share) / samples + z2 / (4 * samples * samples));
	return (struct share_interval){ MAX(middle - half, 0.0), MIN(middle + half, 1.0) };
}

struct share_estimate share_estimate_make(const struct share_blocks *blocks)
{
	struct share_estimate estimate = { .samples = blocks->samples };
	double part = 0, whole = 0, squares = 0;
	size_t used = 0;

	for (size_t i = 0; i < blocks->n_blocks; i++) {
		part += blocks->part[i];
		whole += blocks->whole[i];
		used += blocks->whole[i] > 0;
	}
	if (whole <= 0)
		return estimate;
	estimate.share = MIN(part / whole, 1.0);
	for (size_t i = 0; i < blocks->n_blocks; i++)
		squares += pow(blocks->part[i] - estimate.share * blocks->whole[i], 2);
	if (used < SHARE_MIN_BLOCKS)
		return estimate;
	estimate.freedom = (double)(used - 1);
	estimate.variance = squares / (whole * whole) * (double)used / estimate.freedom;
	return estimate;
}

/* Half of the width of an interval by blocks; 0: the variance is not known. */
static double half_by_blocks(double variance, double freedom, double z)
{
	return freedom > 0 ? student_quantile(z, freedom) * sqrt(variance) : 0;
}

struct share_interval share_estimate_interval(const struct share_estimate *estimate, double z)
{
	const double half = half_by_blocks(estimate->variance, estimate->freedom, z);
	struct share_interval interval;

	/* Values without samples: only blocks show their variance. */
	if (estimate->samples <= 0 && estimate->freedom > 0)
		interval = (struct share_interval){ estimate->share, estimate->share };
	else
		interval = share_binomial_interval(estimate->share, estimate->samples, z);
	return (struct share_interval){
		MAX(MIN(interval.low, estimate->share - half), 0.0),
		MIN(MAX(interval.high, estimate->share + half), 1.0),
	};
}

/* The degrees of freedom of a sum of two variances, after Welch and Satterthwaite. */
static double joint_freedom(const struct share_estimate *base, const struct share_estimate *after)
{
	const double sum = base->variance + after->variance;

	if (base->freedom <= 0 || after->freedom <= 0)
		return 0;
	if (sum <= 0)
		return base->freedom + after->freedom;
	return sum * sum /
	       (base->variance * base->variance / base->freedom +
		after->variance * after->variance / after->freedom);
}

/* Newcombe's interval of a difference, from the intervals of both shares. */
struct share_interval share_change_interval(const struct share_estimate *base,
					    const struct share_estimate *after, double scale,
					    double z)
{
	struct share_estimate scaled = *after;
	struct share_interval before, now;
	double change = after->share / scale - base->share;
	double half, down, up;

	before = share_binomial_interval(base->share, base->samples, z);
	now = share_binomial_interval(after->share, after->samples, z);
	if (base->samples <= 0 && base->freedom > 0)
		before = (struct share_interval){ base->share, base->share };
	if (after->samples <= 0 && after->freedom > 0)
		now = (struct share_interval){ after->share, after->share };
	scaled.variance /= scale * scale;
	half = half_by_blocks(base->variance + scaled.variance, joint_freedom(base, &scaled), z);
	down = hypot((after->share - now.low) / scale, before.high - base->share);
	up = hypot((now.high - after->share) / scale, base->share - before.low);
	return (struct share_interval){ change - MAX(down, half), change + MAX(up, half) };
}
