/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The levels between the root and the frames. Series that are one place of the tree for one process
 * are one group:
 *
 *   [g] tag=value     with group_by
 *   [p] process       the main thread, or of every sample in Total
 *   [t] thread        any other thread; below [p] in Total
 *
 * Without threads (fold_threads) the last one is left out, and outside of Total [p] too.
 */

#include "symbolizer/flame/tree.h"
#include "symbolizer/store/store.h"

#define SERIES_GROUP_MAX_LEVELS 3

struct series_group {
	const struct store_process *process;
	string_id levels[SERIES_GROUP_MAX_LEVELS];
	uint32_t n_levels;
};

struct series_group_options {
	bool total;
	bool fold_threads;
	const char *group_by; /* a known tag; NULL none */
};

/*
 *   groups[n_groups]
 *   group_of_series[n_series]
 */
struct series_groups {
	struct series_group *groups;
	uint32_t n_groups;
	uint32_t *group_of_series;
};

/* Labels are interned in @tree, arrays lie in @arena. */
int series_groups_make(const struct store_series *series, size_t n_series,
		       const struct series_group_options *options, struct tree *tree,
		       struct arena *arena, struct series_groups *ret_groups);

/* The node of the group's deepest level. -ENOSPC when the tree is full. */
int series_group_node(const struct series_group *group, struct tree *tree, uint32_t *ret_node);
