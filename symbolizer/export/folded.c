/* SPDX-License-Identifier: Apache-2.0 */
/*
 * folded: one line for each node of the tree that has a value of its own: "root;caller;callee 12".
 * Labels contain neither ';' nor line breaks (flame/label.h). @path holds the labels down to the
 * current node, so that a node appends only its own.
 */

#include <inttypes.h>

#include "common/vec.h"
#include "symbolizer/export/export.h"

#define MAX_PATH_BYTES (64 * MIB)

VEC_DEFINE(end_vec, size_t);

struct folded_writer {
	struct bytes *out;
	struct bytes path;
	struct end_vec ends; /* where the path of each open node ends */
};

static int enter(void *arg, const struct tree *tree, uint32_t node)
{
	struct folded_writer *writer = arg;
	const struct end_vec *ends = &writer->ends;
	uint32_t n_nodes;
	const struct tree_node *nodes = tree_nodes(tree, &n_nodes);

	writer->path.size = ends->count > 0 ? ends->items[ends->count - 1] : 0;
	if (ends->count > 0)
		(void)bytes_append_byte(&writer->path, ';');
	(void)bytes_append(&writer->path, tree_label(tree, node), tree_label_length(tree, node));
	if (nodes[node].self > 0) {
		(void)bytes_append(writer->out, writer->path.data, writer->path.size);
		(void)bytes_append_format(writer->out, " %" PRIu64 "\n", nodes[node].self);
	}
	if (bytes_error(&writer->path) < 0 || bytes_error(writer->out) < 0)
		return MIN(bytes_error(&writer->path), bytes_error(writer->out));
	return vec_push(&writer->ends, writer->path.size);
}

static void leave(void *arg, const struct tree *tree, uint32_t node)
{
	struct folded_writer *writer = arg;

	(void)tree;
	(void)node;
	writer->ends.count--;
}

static int folded_write_tree(const struct export_tree *input, struct bytes *out)
{
	struct folded_writer writer = { .out = out, .path = BYTES_INIT(MAX_PATH_BYTES) };
	const struct tree_visitor visitor = { .enter = enter, .leave = leave, .arg = &writer };
	int r = tree_walk(input->tree, &visitor);

	bytes_release(&writer.path);
	vec_release(&writer.ends);
	return r;
}

const struct export_writer export_folded = { .write_tree = folded_write_tree };
