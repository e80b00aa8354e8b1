/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The prefix tree of a part is merged into that of the view node by node: a node of the view is
 * (its parent, frame). A stack is translated from the last node that is known already, so each node
 * of the part is translated once, and only if a stack with a value needs it.
 */

#include "symbolizer/store/segment_view/segment_view_private.h"

#include "common/frame.h"
#include "common/frame_kind.h"

static int translate_frame(struct translation *translation, uint64_t row, uint32_t *ret_id)
{
	const uint64_t *const *column = translation->segment->column;
	uint64_t kind = column[FRAME_KIND][row], object = column[FRAME_OBJECT][row];
	uint64_t position = column[FRAME_POSITION][row];
	uint32_t words[] = { (uint32_t)kind, 0, (uint32_t)position, (uint32_t)(position >> 32) };
	uint32_t *known = &translation->frames[row];
	int r = 0;

	if (*known == 0) {
		if (kind > FRAME_KIND_MAX)
			return -EBADMSG;
		if (object)
			r = translate_object(translation, object - 1, &words[1]);
		if (r == 0)
			r = tuple_table_add(&translation->view->frames, words, known);
	}
	*ret_id = *known;
	return MIN(r, 0);
}

static int translate_node(struct translation *translation, uint64_t node, uint32_t parent)
{
	struct tuple_table *nodes = &translation->view->nodes;
	uint32_t words[3] = { parent, 0, parent ? tuple_table_words(nodes, parent)[2] + 1 : 1 };
	int r;

	if (words[2] > STACK_MAX_FRAMES)
		return -EBADMSG;
	r = translate_frame(translation, translation->segment->column[NODE_FRAME][node], &words[1]);
	return r < 0 ? r : tuple_table_add(nodes, words, &translation->nodes[node]);
}

/* @leaf: 0 none, else row of NODE + 1. */
static int translate_nodes(struct translation *translation, uint64_t leaf, uint32_t *ret_id)
{
	const uint64_t *parents = translation->segment->column[NODE_PARENT];
	uint64_t node = leaf;
	size_t n_climbed = 0;
	uint32_t id = 0;

	for (; node && translation->nodes[node - 1] == 0; node = parents[node - 1])
		translation->climb[n_climbed++] = (uint32_t)(node - 1);
	if (node)
		id = translation->nodes[node - 1];
	for (; n_climbed > 0; n_climbed--) {
		uint32_t row = translation->climb[n_climbed - 1];
		int r = translate_node(translation, row, id);

		if (r < 0)
			return r;
		id = translation->nodes[row];
	}
	*ret_id = id;
	return 0;
}

int translate_stack(struct translation *translation, uint64_t stack, uint32_t *ret_id)
{
	const uint64_t *const *column = translation->segment->column;
	uint32_t words[2];
	uint32_t *known;
	int r = 0;

	if (stack == 0) {
		*ret_id = 0;
		return 0;
	}
	known = &translation->stacks[stack - 1];
	if (*known == 0) {
		if (column[STACK_CUT][stack - 1] > UINT8_MAX)
			return -EBADMSG;
		words[1] = (uint32_t)column[STACK_CUT][stack - 1];
		r = translate_nodes(translation, column[STACK_NODE][stack - 1], &words[0]);
		if (r == 0)
			r = tuple_table_add(&translation->view->stacks, words, known);
	}
	*ret_id = *known;
	return MIN(r, 0);
}
