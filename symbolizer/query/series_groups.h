/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The levels of the tree between the root and the frames. Series with the same levels are one group
 * if their processes run the same main executable and map files from the same paths: a service on a
 * hundred hosts has the groups of one host, so that each of its stacks is added to the tree once.
 * The levels are:
 *
 *   [g] tag=value     only with group_by
 *   [p] process       for the main thread; in Total for every thread
 *   [t] thread        for every other thread; in Total below [p]
 *
 * With fold_threads there is no [t] level, and a [p] level only in Total.
 */

#include "symbolizer/flame/tree.h"
#include "symbolizer/store/store_view.h"

#define SERIES_GROUP_MAX_LEVELS 3

struct series_group {
	/* One of its processes: frames have the same labels in all. */
	const struct store_process *process;
	string_id levels[SERIES_GROUP_MAX_LEVELS];
	uint32_t n_levels;
	uint32_t block; /* of time, if the profile is divided into blocks; else 0 */
};

struct series_group_options {
	bool total;
	bool fold_threads;
	bool per_process;     /* a group has series of one process only */
	const char *group_by; /* a known tag; NULL: no [g] level */
};

/*
 *   groups[n_groups]
 *   group_of_series[n_series]  indexes of @groups
 */
struct series_groups {
	struct series_group *groups;
	uint32_t n_groups;
	uint32_t *group_of_series;
};

/* Groups the series. Interns the labels in @tree and allocates the arrays in @arena. */
int series_groups_make(const struct store_series *series, size_t n_series,
		       const struct series_group_options *options, struct tree *tree,
		       struct arena *arena, struct series_groups *ret_groups);

/* Repeats the groups once per block of time: group b * n_groups + i is group i in block b. */
int series_groups_repeat(struct series_groups *groups, uint32_t n_blocks, struct arena *arena);

/* Finds or adds the node of the group's deepest level. Returns -ENOSPC if the tree is full. */
int series_group_node(const struct series_group *group, struct tree *tree, uint32_t *ret_node);
