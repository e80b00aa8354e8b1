/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Finds the functions that cost more in one profile than in another one, beyond chance.
 *
 * Shares of the whole are compared, so that the amount of work has no influence. A function whose
 * cost changes also changes the shares of all others in the opposite direction. The shares after
 * are therefore divided by a common scale: the median of the ratio between the shares of a function
 * after and before. A function has regressed if its share grew both with and without this scale.
 *
 * Self shares are judged first. The growth of a total counts without the functions below it that
 * were already found, so that their callers are not reported.
 *
 *   moved      other functions of the same subtree cost less by the same amount: code was renamed,
 *              split or inlined, or the caller calls another function for the same work
 *   went away  the share grew, and fell back before the range ended
 *
 * Intervals hold for all judged functions at the same time: if nothing changed, an answer has any
 * row with a probability of 1 - confidence.
 */

#include "symbolizer/query/function_shares.h"
#include "symbolizer/query/share_interval.h"

#define REGRESSIONS_CONFIDENCE 0.999

/* With fewer samples on both sides, a function is not judged. */
#define REGRESSIONS_MIN_SAMPLES 10

enum regression_kind {
	REGRESSION_REGRESSED,
	REGRESSION_MOVED,
	REGRESSION_WENT_AWAY,
	REGRESSION_IMPROVED,
	REGRESSION_KIND_COUNT,
};

struct regression {
	const char *label; /* borrowed from the tree */
	char type;
	enum regression_kind kind;
	bool by_total; /* the shares are those of the total */
	struct share_estimate base, after;
	struct share_interval base_interval, after_interval;
	double change; /* of the share, scaled */
	struct share_interval change_interval;
	double growth;      /* of the function itself: 0.05 is 5 % more; infinite: it is new */
	const char *within; /* the function below which the cost moved; NULL: not moved */
};

struct regressions_input {
	const struct function_shares *shares;
	/* Of a sample on each side, in the unit of the values; 0: values are no counts of it. */
	double base_period, after_period;
	size_t n_base_blocks, n_after_blocks;
	double confidence;
};

/*
 *   rows[count]     by kind, then the largest change first
 */
struct regressions {
	struct regression *rows;
	size_t count;
	size_t n_judged; /* functions */
	double scale;
	double quantile; /* of the normal distribution, for one interval */
	double base_samples, after_samples;
};

/* Allocates the rows in @arena. Returns 0 or -ENOMEM. */
int regressions_find(const struct regressions_input *input, struct arena *arena,
		     struct regressions *ret_regressions);
