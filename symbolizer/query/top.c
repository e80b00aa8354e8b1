/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/query/top.h"

#include <string.h>

#include "symbolizer/flame/function_table.h"

static int compare_rows(const void *left, const void *right)
{
	const struct top_row *a = left;
	const struct top_row *b = right;
	int order;

	if (a->self != b->self)
		return a->self > b->self ? -1 : 1;
	if (a->total != b->total)
		return a->total > b->total ? -1 : 1;
	order = strcmp(a->label, b->label);
	return order ? order : a->type - b->type;
}

static int compare_totals(const void *left, const void *right)
{
	const struct top_row *a = left;
	const struct top_row *b = right;

	if (a->total != b->total)
		return a->total > b->total ? -1 : 1;
	return compare_rows(left, right);
}

static bool is_listed(char type, bool of_hosts)
{
	return of_hosts ? type == 'P' : !strchr("HPT", type);
}

bool top_is_of_hosts(const struct tree *tree)
{
	uint32_t n_nodes;

	return tree_nodes(tree, &n_nodes)[0].type == 'H';
}

int top_make(const struct tree *tree, enum top_order order, struct arena *arena,
	     struct top_row **ret_rows, size_t *ret_count)
{
	bool of_hosts = top_is_of_hosts(tree);
	struct function_table table;
	struct top_row *rows;
	size_t count = 0;
	int r;

	r = function_table_init(&table, tree);
	if (r < 0)
		return r;
	rows = arena_alloc_array(arena, table.n_functions, sizeof(*rows));
	for (uint32_t i = 0; rows && i < table.n_functions; i++) {
		const struct function *function = &table.functions[i];

		if (!is_listed(function->type, of_hosts))
			continue;
		rows[count++] = (struct top_row){
			.label = tree_label(tree, function->first_node),
			.type = function->type,
			.self = function->self,
			.total = function->total,
		};
	}
	function_table_release(&table);
	if (!rows)
		return -ENOMEM;

	qsort(rows, count, sizeof(*rows), order == TOP_BY_TOTAL ? compare_totals : compare_rows);
	*ret_rows = rows;
	*ret_count = count;
	return 0;
}
