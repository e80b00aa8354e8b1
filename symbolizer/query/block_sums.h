/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * store_sum() for each of several blocks of a time range. Item i of block b has the group
 * b * n_groups + i.group, so that one list holds all of them.
 */

#include "symbolizer/store/store_view.h"

struct block_sums_query {
	struct store_sum_query sum;
	uint32_t n_groups;
	uint32_t n_blocks; /* the most; at least 1 */
};

/*
 * Blocks have equal lengths. If only the sums of whole hours are left of a part of the range, they
 * are whole hours, and *ret_n_blocks is smaller if the range has fewer hours. Results are those of
 * store_sum(); the caller releases @ret_sums.
 */
int block_sums(struct store_view *view, const struct block_sums_query *query,
	       struct store_sums *ret_sums, uint32_t *ret_n_blocks);
