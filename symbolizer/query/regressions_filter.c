/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tells a regression from cost that moved to another function, and from growth that ended.
 *
 * Cost moved within the subtree of a caller if the rest of that subtree costs less by at least half
 * of the growth. Any large program has some function that costs less, so that the subtree must be
 * small: that of a direct caller, or one of which the growth is at least 5 %.
 */

#include <string.h>

#include "symbolizer/query/regressions_private.h"

#define MIN_MOVED_PART   0.5
#define MIN_SUBTREE_PART 0.05

/*
 * The part of the blocks, at the end of the range, in which a lasting regression must be visible.
 */
#define LAST_BLOCKS_DIVISOR 4

/* Deviations at which growth is taken to have ended; only functions that were found are tested. */
#define ENDED_QUANTILE 3.0

/* Returns whether @node lies below another node of its function. */
static bool is_recursive(const struct search *search, uint32_t node)
{
	const uint32_t *functions = search->functions->function_of_node;

	for (uint32_t up = search->nodes[node].parent; up != TREE_NO_PARENT;
	     up = search->nodes[up].parent)
		if (functions[up] == functions[node])
			return true;
	return false;
}

/* The value of @function below @caller. */
static struct columns part_below(const struct search *search, uint32_t function, bool by_total,
				 uint32_t caller)
{
	const struct function_shares *shares = search->input->shares;
	struct columns part = {};

	for (uint32_t i = search->first[function]; i < search->first[function + 1]; i++) {
		const uint32_t node = search->nodes_of[i];
		uint32_t up = search->nodes[node].parent;

		if (by_total && is_recursive(search, node))
			continue;
		while (up != TREE_NO_PARENT && search->functions->function_of_node[up] != caller)
			up = search->nodes[up].parent;
		if (up != TREE_NO_PARENT)
			columns_add(&part,
				    by_total ? function_shares_total(shares, node)
					     : function_shares_self(shares, node),
				    1);
	}
	return part;
}

static bool is_moved_within(const struct search *search, uint32_t function, bool by_total,
			    uint32_t caller, bool direct, const struct measure *growth)
{
	struct columns rest = search->total[caller], part;
	struct measure added, saved;
	double subtree;

	part = part_below(search, function, by_total, caller);
	columns_add(&rest, part.values, -1);
	added = measure_columns(search, part.values);
	saved = measure_columns(search, rest.values);
	subtree = MAX(added.base.share + saved.base.share, added.after.share + saved.after.share);
	if (!direct && growth->change < MIN_SUBTREE_PART * subtree)
		return false;
	return added.change >= MIN_MOVED_PART * growth->change && saved.scaled.high < 0 &&
	       -saved.change >= MIN_MOVED_PART * growth->change;
}

/* Tests each caller once: direct callers, or all functions above. Returns the first that fits. */
static uint32_t test_callers(const struct search *search, uint32_t function, bool by_total,
			     bool direct, const struct measure *growth)
{
	const uint32_t *functions = search->functions->function_of_node;

	memset(search->tested, 0, search->functions->n_functions * sizeof(*search->tested));
	search->tested[function] = true;
	for (uint32_t i = search->first[function]; i < search->first[function + 1]; i++) {
		uint32_t up = search->nodes[search->nodes_of[i]].parent;

		for (; up != TREE_NO_PARENT && up != 0; up = search->nodes[up].parent) {
			const uint32_t caller = functions[up];

			if (!search->tested[caller] &&
			    is_moved_within(search, function, by_total, caller, direct, growth))
				return caller;
			search->tested[caller] = true;
			if (direct)
				break;
		}
	}
	return UINT32_MAX;
}

uint32_t find_moved(const struct search *search, uint32_t function, bool by_total,
		    const struct measure *growth)
{
	uint32_t caller = test_callers(search, function, by_total, true, growth);

	if (caller == UINT32_MAX)
		caller = test_callers(search, function, by_total, false, growth);
	return caller;
}

bool went_away(const struct search *search, const double *columns, const struct measure *growth)
{
	const struct regressions *result = search->result;
	const size_t count = search->input->n_after_blocks;
	const size_t n_last = count / LAST_BLOCKS_DIVISOR;
	struct share_blocks earlier, last;
	struct share_estimate estimate;
	struct share_interval end;
	double grown, whole = 0;

	if (n_last < SHARE_MIN_BLOCKS)
		return false;
	earlier = (struct share_blocks){
		.part = columns + FUNCTION_SHARES_BLOCKS,
		.whole = search->whole + FUNCTION_SHARES_BLOCKS,
		.n_blocks = count - n_last,
	};
	last = (struct share_blocks){
		.part = earlier.part + earlier.n_blocks,
		.whole = earlier.whole + earlier.n_blocks,
		.n_blocks = n_last,
	};
	for (size_t i = 0; i < n_last; i++)
		whole += last.whole[i];
	if (search->input->after_period > 0)
		last.samples = whole / search->input->after_period;
	if (whole <= 0)
		return false;
	grown = share_estimate_make(&earlier).share / result->scale - growth->base.share;
	estimate = share_estimate_make(&last);
	end = share_change_interval(&growth->base, &estimate, result->scale, ENDED_QUANTILE);
	return end.high < grown / 2;
}
