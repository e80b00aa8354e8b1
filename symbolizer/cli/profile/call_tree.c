/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Converts JSON columns to arrays, and checks them: every function exists, a parent precedes its
 * children, and the rows are in depth-first order. To check the order, the reader keeps the path of
 * open nodes, those that may still get children.
 */

#include "symbolizer/cli/profile/call_tree.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#include "symbolizer/cli/print/scoped_json.h"

/* More than the server sends; keeps indices within 32 bits. */
#define MAX_ROWS (1u << 28)

struct call_tree *call_tree_free(struct call_tree *tree)
{
	if (!tree)
		return NULL;
	for (uint32_t i = 0; i < tree->n_functions; i++)
		free(tree->functions[i].name);
	free(tree->functions);
	free(tree->nodes);
	free(tree);
	return NULL;
}

static bool read_value_of(const json_t *value, uint64_t *ret_value)
{
	if (!json_is_integer(value) || json_integer_value(value) < 0)
		return false;
	*ret_value = (uint64_t)json_integer_value(value);
	return true;
}

static bool read_value(const json_t *row, size_t column, uint64_t *ret_value)
{
	return read_value_of(json_array_get(row, column), ret_value);
}

/* Returns the rows of a table; NULL if its columns are not the expected ones. */
static const json_t *table_rows(const json_t *result, const char *name, const char *const *columns,
				size_t n_columns)
{
	const json_t *table = json_object_get(result, name);
	const json_t *given = json_object_get(table, "columns");
	const json_t *rows = json_object_get(table, "values");

	for (size_t i = 0; i < n_columns; i++) {
		const char *column = json_string_value(json_array_get(given, i));

		if (!column || strcmp(column, columns[i]) != 0)
			return NULL;
	}
	return json_is_array(rows) && json_array_size(rows) <= MAX_ROWS ? rows : NULL;
}

static int read_functions(struct call_tree *tree, const json_t *result)
{
	static const char *const columns[] = { "self_value", "total_value" };
	const json_t *names = json_object_get(result, "functions");
	const json_t *types = json_object_get(result, "function_types");
	const json_t *rows = table_rows(result, "function_values", columns, ARRAY_SIZE(columns));
	size_t count = json_array_size(names);

	if (!rows || json_array_size(rows) != count || json_array_size(types) != count)
		return -EBADMSG;
	tree->functions = calloc(count + 1, sizeof(*tree->functions));
	if (!tree->functions)
		return -ENOMEM;
	tree->n_functions = (uint32_t)count;

	for (size_t i = 0; i < count; i++) {
		struct call_function *function = &tree->functions[i];
		const char *name = json_string_value(json_array_get(names, i));
		const char *type = json_string_value(json_array_get(types, i));
		const json_t *row = json_array_get(rows, i);

		if (!name || !type || !read_value(row, 0, &function->self) ||
		    !read_value(row, 1, &function->total))
			return -EBADMSG;
		function->type = type[0];
		function->name = strdup(name);
		if (!function->name)
			return -ENOMEM;
	}
	return 0;
}

static bool read_node(const struct call_tree *tree, const json_t *row, uint32_t index,
		      struct call_node *ret_node)
{
	const json_t *parent = json_array_get(row, 1);
	uint64_t function;

	if (!read_value(row, 0, &function) || function >= tree->n_functions ||
	    !json_is_integer(parent) || !read_value(row, 2, &ret_node->self) ||
	    !read_value(row, 3, &ret_node->total))
		return false;
	ret_node->function = (uint32_t)function;
	if (index == 0)
		return json_integer_value(parent) == -1;
	if (json_integer_value(parent) < 0 || json_integer_value(parent) >= index)
		return false;
	ret_node->parent = (uint32_t)json_integer_value(parent);
	return true;
}

/*
 * Closes the open nodes below the parent of node @index. Returns false if the parent is closed
 * already: the rows are not in depth-first order.
 */
static bool follow_path(struct call_tree *tree, uint32_t index)
{
	uint32_t parent = tree->nodes[index].parent;
	uint32_t open = index - 1;

	while (open != parent) {
		if (open < parent || open == 0)
			return false;
		tree->nodes[open].end = index;
		open = tree->nodes[open].parent;
	}
	tree->nodes[index].depth = tree->nodes[parent].depth + 1;
	return true;
}

static void close_path(struct call_tree *tree)
{
	uint32_t node = tree->n_nodes - 1;

	for (; node != 0; node = tree->nodes[node].parent)
		tree->nodes[node].end = tree->n_nodes;
	tree->nodes[0].end = tree->n_nodes;
}

static int read_nodes(struct call_tree *tree, const json_t *result)
{
	static const char *const columns[] = { "function_id", "parent_node_id", "self_value",
					       "total_value" };
	const json_t *rows = table_rows(result, "node_values", columns, ARRAY_SIZE(columns));
	size_t count = json_array_size(rows);

	if (count == 0)
		return -EBADMSG;
	tree->nodes = calloc(count, sizeof(*tree->nodes));
	if (!tree->nodes)
		return -ENOMEM;

	for (uint32_t i = 0; i < count; i++) {
		if (!read_node(tree, json_array_get(rows, i), i, &tree->nodes[i]))
			return -EBADMSG;
		if (i > 0 && !follow_path(tree, i))
			return -EBADMSG;
		tree->n_nodes++;
	}
	close_path(tree);
	return 0;
}

static uint64_t read_covered(const json_t *root)
{
	double seconds =
		json_number_value(json_object_get(json_object_get(root, "stats"), "covered_s"));

	return seconds > 0 && seconds < 1e12 ? (uint64_t)(seconds + 0.5) : 0;
}

/* ProfileTracing answers the figures of a query in "debug", /v1/flame in "stats". */
static void read_unresolved(struct call_tree *tree, const json_t *root)
{
	static const char *const keys[] = { "debug", "stats" };

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		(void)read_value_of(json_object_get(json_object_get(root, keys[i]), "unsymbolized"),
				    &tree->unresolved);
}

int call_tree_from_answer(struct bytes_view answer, struct call_tree **ret_tree,
			  char *ret_description, size_t description_size)
{
	scoped(json_freep) json_t *root = NULL;
	scoped(call_tree_freep) struct call_tree *tree = NULL;
	const char *description;
	const json_t *result;
	int r;

	root = json_loadb((const char *)answer.data, answer.size, 0, NULL);
	result = json_object_get(root, "result");
	if (!result)
		return -EBADMSG;
	description = json_string_value(json_object_get(root, "DESCRIPTION"));
	if (!description)
		description = json_string_value(json_object_get(root, "message"));
	(void)snprintf(ret_description, description_size, "%s", description ? description : "");
	if (!json_is_array(json_object_get(result, "functions")))
		return 0;

	tree = calloc(1, sizeof(*tree));
	if (!tree)
		return -ENOMEM;
	r = read_functions(tree, result);
	if (r < 0)
		return r;
	r = read_nodes(tree, result);
	if (r < 0)
		return r;
	tree->covered_s = read_covered(root);
	read_unresolved(tree, root);

	*ret_tree = take_ptr(tree);
	return 1;
}
