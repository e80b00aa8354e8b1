/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The functions of a finished tree, by falling self, then total, then label: the table beside a
 * flame graph. The root, processes and threads are no functions. Recursion counts once.
 */

#include "common/arena.h"
#include "symbolizer/flame/tree.h"

struct top_row {
	const char *label; /* lives as long as the tree */
	char type;
	uint64_t self;
	uint64_t total;
};

/* ret_rows[0..*ret_count) in @arena; at most @max_rows, 0 all. */
int top_make(const struct tree *tree, size_t max_rows, struct arena *arena,
	     struct top_row **ret_rows, size_t *ret_count);
