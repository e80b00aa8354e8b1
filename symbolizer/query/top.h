/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The functions of a finished tree: the table beside a flame graph. The root, processes and threads
 * are no functions. Recursion counts once. A tree of whole hosts ('H') has no functions: its rows
 * are the processes, where total is the whole process and self leaves out the other threads.
 */

#include "common/arena.h"
#include "symbolizer/flame/tree.h"

enum top_order {
	TOP_BY_SELF,  /* then by total, then by label */
	TOP_BY_TOTAL, /* then by self, then by label */
};

struct top_row {
	const char *label; /* lives as long as the tree */
	char type;
	uint64_t self;
	uint64_t total;
};

bool top_is_of_hosts(const struct tree *tree);

/* ret_rows[0..*ret_count) in @arena. */
int top_make(const struct tree *tree, enum top_order order, struct arena *arena,
	     struct top_row **ret_rows, size_t *ret_count);
