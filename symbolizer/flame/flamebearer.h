/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A tree in the form of Pyroscope's "flamebearer": a list of names, and the nodes of each depth
 * from left to right. A node has four numbers:
 *
 *   x       offset from the end of the node before it at the same depth, or from 0
 *   total, self
 *   name    index of its name
 *
 * A node begins where its parent's self value ends, or where its elder sibling ends. Readers find
 * the parent of a node by these offsets. Names[0] and the root's name is "total", because Grafana
 * expects it. Nodes without a value are left out.
 */

#include "common/arena.h"
#include "symbolizer/flame/tree.h"

#define FLAMEBEARER_NUMBERS 4

struct flamebearer_level {
	int64_t *numbers; /* [n_numbers] */
	size_t n_numbers;
};

struct flamebearer {
	char **names;
	size_t n_names;
	struct flamebearer_level *levels;
	size_t n_levels;
	int64_t total;
	int64_t max_self;
};

/* @tree is finished; NULL: a root without a value. Names belong to @tree, all else to @arena.
 * Returns 0 or -ENOMEM. */
int flamebearer_make(const struct tree *tree, struct arena *arena,
		     struct flamebearer *ret_flamebearer);
