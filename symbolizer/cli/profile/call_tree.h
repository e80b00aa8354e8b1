/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A profile as the server's columns tell it: nodes parents first, depth first, children by falling
 * total.
 *
 *   nodes[n_nodes]           node 0 is the root; the subtree of i is nodes[i .. nodes[i].end)
 *   functions[n_functions]   self and total of a function over all its nodes, a recursive path
 * counted once
 *
 * Values are microseconds or bytes. Names belong to the tree. Nothing in it is trusted: the order
 * and every index of an answer are checked when it is read.
 */

#include "common/bytes.h"

struct call_node {
	uint32_t function;
	uint32_t parent; /* of the root: 0 */
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
	/* of the range, in which an agent sampled; 0: the server does not say */
	uint64_t covered_s;
	/* of the root's total: without names; 0 where the answer has no figures */
	uint64_t unresolved;
};

/*
 * Reads the answer of /v1/flame or ProfileTracing with format "columns". 1: *ret_tree is the
 * profile. 0: the answer holds none, and @ret_description (of @description_size) says why.
 * -EBADMSG: it is not such an answer. -ENOMEM.
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
