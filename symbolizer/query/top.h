/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The functions of a finished tree, for the table beside a flame graph. The root, processes and
 * threads are not functions. The total of a recursive function counts each stack once. A tree of
 * whole hosts (root type 'H') has no functions; its rows are processes, with the whole process as
 * total and the main thread as self.
 */

#include "common/arena.h"
#include "symbolizer/flame/tree.h"

enum top_order {
	TOP_BY_SELF,  /* then by total, then by label */
	TOP_BY_TOTAL, /* then by self, then by label */
};

struct top_row {
	const char *label; /* borrowed from the tree */
	char type;
	uint64_t self;
	uint64_t total;
};

/* True if the root of @tree has type 'H', so that the rows are processes. */
bool top_is_of_hosts(const struct tree *tree);

/* Allocates ret_rows[0..*ret_count) in @arena. */
int top_make(const struct tree *tree, enum top_order order, struct arena *arena,
	     struct top_row **ret_rows, size_t *ret_count);
