/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Writes one line per stack in the format of flamegraph.pl, speedscope and inferno. @path has the
 * names from the root to the current node. ends[d] is the length of @path up to depth d, so that
 * each node cuts @path to its parent and appends only its own name.
 */

#include <stdlib.h>

#include "symbolizer/cli/print/printable.h"
#include "symbolizer/cli/profile/flame_text.h"

static uint32_t deepest(const struct call_tree *tree)
{
	uint32_t depth = 0;

	for (uint32_t i = 0; i < tree->n_nodes; i++)
		depth = MAX(depth, tree->nodes[i].depth);
	return depth;
}

int folded_write(const struct call_tree *tree, struct bytes *out)
{
	scoped(bytes_release) struct bytes path = BYTES_INIT(16 * MIB);
	scoped_free size_t *ends = calloc(deepest(tree) + 1, sizeof(*ends));

	if (!ends)
		return -ENOMEM;

	for (uint32_t i = 0; i < tree->n_nodes; i++) {
		const struct call_node *node = &tree->nodes[i];

		path.size = node->depth > 0 ? ends[node->depth - 1] : 0;
		if (node->depth > 0)
			(void)bytes_append_byte(&path, ';');
		(void)printable_append(&path, call_tree_function(tree, i)->name, -1);
		if (bytes_error(&path) < 0)
			return bytes_error(&path);
		ends[node->depth] = path.size;

		if (node->self == 0)
			continue;
		(void)bytes_append(out, path.data, path.size);
		(void)bytes_append_format(out, " %llu\n", (unsigned long long)node->self);
	}
	return bytes_error(out);
}
