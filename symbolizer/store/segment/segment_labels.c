/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists of labels share rows: a row is visited once. Most rows have one of few names, so the names
 * seen last are remembered in a small table.
 */

#include "symbolizer/store/segment/segment_labels.h"

#include "common/scoped.h"
#include "symbolizer/store/segment/segment_columns.h"

#define REMEMBERED_NAMES 256

struct walk {
	struct column next, name;
	struct column lists[2]; /* of processes and series: 0 none, else row + 1 */
	struct column_texts texts;
	segment_label_function function;
	void *arg;                             /* of function */
	bool *is_visited;                      /* [rows of LABEL] */
	uint64_t remembered[REMEMBERED_NAMES]; /* row + 1 */
};

static int visit_name(struct walk *walk, uint64_t name)
{
	uint64_t *remembered = &walk->remembered[name % REMEMBERED_NAMES];

	if (*remembered == name + 1)
		return 0;
	*remembered = name + 1;
	return MIN(walk->function(walk->arg, column_text(&walk->texts, name)), 0);
}

static int visit_list(struct walk *walk, uint64_t list)
{
	int r = 0;

	for (; list > 0 && !walk->is_visited[list - 1] && r == 0;
	     list = column_value(&walk->next, list - 1)) {
		walk->is_visited[list - 1] = true;
		r = visit_name(walk, column_value(&walk->name, list - 1));
	}
	return r;
}

static int visit_all(struct walk *walk)
{
	scoped_free bool *is_visited = calloc(walk->next.count + 1, sizeof(*is_visited));
	int r = 0;

	if (!is_visited)
		return -ENOMEM;
	walk->is_visited = is_visited;
	for (size_t i = 0; i < ARRAY_SIZE(walk->lists); i++)
		for (size_t row = 0; row < walk->lists[i].count && r == 0; row++)
			r = visit_list(walk, column_value(&walk->lists[i], row));
	return r;
}

int segment_label_names(const struct segment *segment, segment_label_function function, void *arg)
{
	struct walk walk = {
		.next = column_of_segment(segment, SEGMENT_LABEL, LABEL_NEXT),
		.name = column_of_segment(segment, SEGMENT_LABEL, LABEL_NAME),
		.lists = { column_of_segment(segment, SEGMENT_PROCESS, PROCESS_LABELS),
			   column_of_segment(segment, SEGMENT_SERIES, SERIES_LABELS) },
		.texts = { .segment = segment },
		.function = function,
		.arg = arg,
	};

	return visit_all(&walk);
}

int segment_builder_label_names(const struct segment_builder *builder,
				segment_label_function function, void *arg)
{
	struct walk walk = {
		.next = column_of_builder(builder, SEGMENT_LABEL, LABEL_NEXT),
		.name = column_of_builder(builder, SEGMENT_LABEL, LABEL_NAME),
		.lists = { column_of_builder(builder, SEGMENT_PROCESS, PROCESS_LABELS),
			   column_of_builder(builder, SEGMENT_SERIES, SERIES_LABELS) },
		.texts = { .builder = builder },
		.function = function,
		.arg = arg,
	};

	return visit_all(&walk);
}
