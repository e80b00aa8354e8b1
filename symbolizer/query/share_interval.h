/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * How far chance can move a share: the part of a profile's samples that a function has.
 *
 * Each interval is the wider one of two:
 *
 *   binomial   every sample is independent of the others, as those of a random process would be
 *   blocks     the range is divided into blocks of equal length, which are independent of each
 *              other. Samples inside a block need not be: a thread that runs one function for many
 *              slots makes all of their samples alike, and the shares of blocks then vary more
 *              than the binomial distribution has it
 *
 * A share is between 0 and 1. @z is a quantile of the normal distribution (normal_quantile()); for
 * blocks, the quantile of Student's distribution with the same probability replaces it.
 */

#include <stddef.h>

/* Fewer blocks say too little about their variance: only the binomial interval remains. */
#define SHARE_MIN_BLOCKS 8

struct share_interval {
	double low, high;
};

/* A part of a profile and the whole, per block, in the unit of the event type. */
struct share_blocks {
	const double *part;  /* [n_blocks] */
	const double *whole; /* [n_blocks] */
	size_t n_blocks;
	double samples; /* of the whole; 0: unknown, because values are no counts of periods */
};

/* The share of @blocks and the variance of its estimate between blocks. */
struct share_estimate {
	double share;
	double samples;
	double variance; /* 0: too few blocks */
	double freedom;  /* degrees of freedom of the variance */
};

/* The value that a normal variable exceeds with a probability of 1 - @probability. */
double normal_quantile(double probability);

/* Student's quantile with the probability of the normal quantile @z. */
double student_quantile(double z, double freedom);

/* Wilson's interval of a share, which is right for small shares too. 0 to 1 without samples. */
struct share_interval share_binomial_interval(double share, double samples, double z);

struct share_estimate share_estimate_make(const struct share_blocks *blocks);

/* The interval of a share. */
struct share_interval share_estimate_interval(const struct share_estimate *estimate, double z);

/* The interval of @after / @scale - @base. */
struct share_interval share_change_interval(const struct share_estimate *base,
					    const struct share_estimate *after, double scale,
					    double z);
