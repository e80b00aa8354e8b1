/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A profile, read from the server's answer in columns. Nodes are in depth-first order, parents
 * before children, children by descending total.
 *
 *   nodes[n_nodes]           node 0 is the root; the subtree of i is nodes[i .. nodes[i].end)
 *   functions[n_functions]   self and total of a function over all its nodes; a recursive path
 *                            counts once
 *
 * Values are microseconds or bytes. The tree owns the names. The reader checks the order and every
 * index of an answer, so that users of a tree need no checks.
 */

#include "common/bytes.h"

struct call_node {
	uint32_t function;
	uint32_t parent; /* 0 for the root */
	uint32_t end;
	uint32_t depth;
	uint64_t self;
	uint64_t total;
};

struct call_function {
	char *name;
	char type; /* H P T K L C ? A O, see symbolizer/flame/tree.h */
	uint64_t self;
	uint64_t total;
};

struct call_tree {
	struct call_node *nodes;
	uint32_t n_nodes;
	struct call_function *functions;
	uint32_t n_functions;
	/* seconds of the range in which an agent sampled; 0: not in the answer */
	uint64_t covered_s;
	/* the part of the root's total that has no names; 0: none, or not in the answer */
	uint64_t unresolved;
};

/*
 * Reads the answer of /v1/flame or ProfileTracing with format "columns". Returns 1 and sets
 * *ret_tree, or 0 if the answer holds no profile. Both write the server's message (what is missing,
 * and why) to @ret_description, of @description_size bytes. -EBADMSG: not such an answer; -ENOMEM.
 */
int call_tree_from_answer(struct bytes_view answer, struct call_tree **ret_tree,
			  char *ret_description, size_t description_size);
struct call_tree *call_tree_free(struct call_tree *tree);

static inline const struct call_function *call_tree_function(const struct call_tree *tree,
							     uint32_t node)
{
	return &tree->functions[tree->nodes[node].function];
}

#include "common/scoped.h"
DEFINE_SCOPED(struct call_tree *, call_tree_free);
