/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Three steps: make rows of nodes (a chain is one row), choose the rows with the largest totals,
 * and print these.
 */

#include "symbolizer/cli/profile/flame_text.h"

#include <stdio.h>
#include <stdlib.h>

#include "common/vec.h"
#include "symbolizer/cli/print/colour.h"
#include "symbolizer/cli/print/number_format.h"
#include "symbolizer/cli/print/printable.h"

/* Enough to compare lengths by eye; names need the rest of the line. */
#define BAR_COLUMNS 16

/* "100.0 %  " before the bar, and "  12.3 ms" after the name. */
#define SHARE_COLUMNS 9
#define VALUE_COLUMNS 11

/* Deeper frames are not indented further, to leave room for names. */
#define MAX_INDENT_COLUMNS 40

struct row {
	uint32_t first; /* the topmost node of a chain */
	uint32_t last;
	uint32_t depth; /* in rows */
	bool shown;
};

VEC_DEFINE(row_vec, struct row);

static void row_vec_releasep(struct row_vec *rows)
{
	vec_release(rows);
}

static bool is_frame(const struct call_tree *tree, uint32_t node)
{
	char type = call_tree_function(tree, node)->type;

	return type != 'H' && type != 'P' && type != 'T';
}

/*
 * A frame without self value shares a line with its only callee. Returns the last frame of the
 * line.
 */
static uint32_t end_of_chain(const struct call_tree *tree, uint32_t node)
{
	while (node + 1 < tree->nodes[node].end && is_frame(tree, node) &&
	       tree->nodes[node + 1].end == tree->nodes[node].end &&
	       tree->nodes[node + 1].total == tree->nodes[node].total)
		node++;
	return node;
}

static int collect_rows(const struct call_tree *tree, uint64_t min_total, struct row_vec *rows)
{
	uint32_t *depth_of = calloc(tree->n_nodes, sizeof(*depth_of)); /* row depth, by node */
	int r = depth_of ? 0 : -ENOMEM;

	for (uint32_t i = 0; r == 0 && i < tree->n_nodes;) {
		struct row row = { .first = i, .last = end_of_chain(tree, i) };

		if (i > 0 && tree->nodes[i].total < min_total) {
			i = tree->nodes[i].end;
			continue;
		}
		row.depth = i > 0 ? depth_of[tree->nodes[i].parent] + 1 : 0;
		depth_of[row.last] = row.depth;
		r = vec_push(rows, row);
		i = row.last + 1;
	}
	free(depth_of);
	return r;
}

static int compare_totals(const void *a_ptr, const void *b_ptr)
{
	uint64_t a = *(const uint64_t *)a_ptr, b = *(const uint64_t *)b_ptr;

	return a < b ? 1 : a > b ? -1 : 0;
}

/* Marks the @max_rows largest rows; of equal rows the first, because callers precede callees. */
static int choose_rows(const struct call_tree *tree, struct row_vec *rows, uint32_t max_rows)
{
	scoped_free uint64_t *totals = calloc(rows->count + 1, sizeof(*totals));
	size_t wanted = max_rows > 0 ? MIN((size_t)max_rows, rows->count) : rows->count;
	uint64_t least;
	size_t n_larger = 0;

	if (!totals)
		return -ENOMEM;
	for (size_t i = 0; i < rows->count; i++)
		totals[i] = tree->nodes[rows->items[i].first].total;
	qsort(totals, rows->count, sizeof(*totals), compare_totals);
	least = totals[wanted - 1];
	while (n_larger < wanted && totals[n_larger] > least)
		n_larger++;

	for (size_t i = 0; i < rows->count; i++) {
		uint64_t total = tree->nodes[rows->items[i].first].total;

		rows->items[i].shown = total > least || (total == least && n_larger < wanted);
		n_larger += total == least && rows->items[i].shown;
	}
	return 0;
}

/* The bar has a resolution of an eighth of a column, unless @ascii. */
static void append_bar(struct bytes *out, uint64_t part, uint64_t whole, bool ascii)
{
	static const char *const eighths[] = { " ", "▏", "▎", "▍", "▌", "▋", "▊", "▉" };
	double share = whole > 0 ? MIN((double)part / (double)whole, 1.0) : 0.0;
	unsigned int filled = (unsigned int)(share * BAR_COLUMNS * 8 + 0.5);
	unsigned int columns = ascii ? (filled + 4) / 8 : filled / 8;

	for (unsigned int i = 0; i < BAR_COLUMNS; i++) {
		if (i < columns)
			(void)bytes_append_text(out, ascii ? "#" : "█");
		else
			(void)bytes_append_text(out,
						i == columns && !ascii ? eighths[filled % 8] : " ");
	}
}

/* Appends as many names of a chain as fit. The first and last matter most: omits those between. */
static void append_chain(struct bytes *out, const struct call_tree *tree, const struct row *row,
			 int room)
{
	int used = printable_append(out, call_tree_function(tree, row->first)->name, room);

	for (uint32_t i = row->first + 1; i <= row->last && used + 4 < room; i++) {
		const char *name = call_tree_function(tree, i)->name;
		bool fits_last = i == row->last || used + 3 + (int)strlen(name) + 8 < room;

		if (!fits_last) {
			(void)bytes_append_text(out, " > ..");
			used += 5;
			i = row->last;
			name = call_tree_function(tree, i)->name;
		}
		if (used + 4 >= room)
			break;
		(void)bytes_append_text(out, " > ");
		used += 3 + printable_append(out, name, room - used - 3);
	}
	for (; used < room; used++)
		(void)bytes_append_byte(out, ' ');
}

static void append_row(struct bytes *out, const struct call_tree *tree,
		       const struct flame_text_options *options, const struct row *row)
{
	const struct call_node *node = &tree->nodes[row->first];
	int indent = (int)MIN(row->depth, (uint32_t)MAX_INDENT_COLUMNS);
	int room =
		MAX(options->width - SHARE_COLUMNS - BAR_COLUMNS - 1 - indent - VALUE_COLUMNS, 12);
	char share[NUMBER_TEXT_SIZE], value[NUMBER_TEXT_SIZE];

	format_share(node->total, tree->nodes[0].total, share);
	format_value(options->type, node->total, value);
	(void)bytes_append_format(out, "%7s  ", share);
	(void)bytes_append_text(
		out,
		options->colours ? colour_of_kind(call_tree_function(tree, row->last)->type) : "");
	append_bar(out, node->total, tree->nodes[0].total, options->ascii);
	(void)bytes_append_text(out, options->colours ? COLOUR_RESET : "");
	(void)bytes_append_format(out, " %*s", indent, "");
	append_chain(out, tree, row, room);
	(void)bytes_append_format(out, "%*s\n", VALUE_COLUMNS, value);
}

int flame_text_write(const struct call_tree *tree, const struct flame_text_options *options,
		     struct bytes *out, uint32_t *ret_n_hidden)
{
	scoped(row_vec_releasep) struct row_vec rows = {};
	uint64_t min_total = (uint64_t)(options->min_pct / 100 * (double)tree->nodes[0].total);
	uint32_t n_shown = 0;
	int r;

	r = collect_rows(tree, min_total, &rows);
	if (r < 0)
		return r;
	r = choose_rows(tree, &rows, options->max_rows);
	if (r < 0)
		return r;

	for (size_t i = 0; i < rows.count; i++) {
		if (!rows.items[i].shown)
			continue;
		append_row(out, tree, options, &rows.items[i]);
		n_shown += rows.items[i].last - rows.items[i].first + 1;
	}
	*ret_n_hidden = tree->n_nodes - n_shown;
	return bytes_error(out);
}
