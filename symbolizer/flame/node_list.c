/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The two formats of ProfileTracing and that of ProfileGrafana. In a node list, the ID of a node is
 * the UUID of its path, the labels from below the root joined with ';'. The walk keeps the hash of
 * the path of each ancestor, so that a node hashes only its own label.
 */

#include "symbolizer/flame/node_list.h"

#include "common/uuid5.h"
#include "symbolizer/flame/function_table.h"

/* Divides and rounds half up, without overflow. */
static uint64_t rounded(uint64_t value, uint64_t divisor)
{
	uint64_t rest = value % divisor;

	return value / divisor + (rest >= divisor - rest ? 1 : 0);
}

/* The path of a node of the walk, and its ID. The root's path is empty and its ID is "". */
struct node_path {
	struct uuid5 name;
	char id[UUID_TEXT_SIZE];
};

struct node_list_writer {
	struct json_writer *json;
	uint64_t unit_divisor;
	struct node_path *paths; /* [max_depth] the first @depth are those of the open nodes */
	size_t depth;
	size_t max_depth;
};

static int grow_paths(struct node_list_writer *writer)
{
	size_t max_depth = writer->max_depth ? writer->max_depth * 2 : 64;
	void *paths = realloc(writer->paths, max_depth * sizeof(*writer->paths));

	if (!paths)
		return -ENOMEM;

	writer->paths = paths;
	writer->max_depth = max_depth;
	return 0;
}

/* Makes the path of a node with this label at the current depth. */
static void make_path(struct node_list_writer *writer, const char *label, size_t length)
{
	struct node_path *path = &writer->paths[writer->depth];

	if (writer->depth == 0) {
		uuid5_init(&path->name);
		path->id[0] = '\0';
		return;
	}
	path->name = path[-1].name;
	if (writer->depth > 1)
		uuid5_add(&path->name, ";", 1);
	uuid5_add(&path->name, label, length);
	uuid5_text(&path->name, path->id);
}

static int list_enter(void *arg, const struct tree *tree, uint32_t index)
{
	struct node_list_writer *writer = arg;
	uint32_t count;
	const struct tree_node *node = &tree_nodes(tree, &count)[index];
	struct json_writer *json = writer->json;
	const struct node_path *path;
	int r;

	if (writer->depth == writer->max_depth) {
		r = grow_paths(writer);
		if (r < 0)
			return r;
	}

	make_path(writer, tree_label(tree, index), tree_label_length(tree, index));
	path = &writer->paths[writer->depth];

	json_object_begin(json);
	json_key_text(json, "profile_location_str", tree_label(tree, index));
	json_key_text(json, "node_id", path->id);
	json_key_text(json, "parent_node_id", writer->depth > 0 ? path[-1].id : "-1");
	json_key_uint(json, "self_value", rounded(node->self, writer->unit_divisor));
	json_key_uint(json, "total_value", rounded(node->total, writer->unit_divisor));
	json_object_end(json);
	writer->depth++;
	return bytes_error(json->out);
}

static void list_leave(void *arg, const struct tree *tree, uint32_t index)
{
	struct node_list_writer *writer = arg;

	(void)tree;
	(void)index;
	writer->depth--;
}

int node_list_write(const struct tree *tree, uint64_t unit_divisor, struct json_writer *json)
{
	struct node_list_writer writer = {
		.json = json,
		.unit_divisor = unit_divisor,
	};
	const struct tree_visitor visitor = {
		.enter = list_enter,
		.leave = list_leave,
		.arg = &writer,
	};
	int r;

	json_array_begin(json);
	r = tree_walk(tree, &visitor);
	json_array_end(json);

	free(writer.paths);
	return r < 0 ? r : bytes_error(json->out);
}

static void write_columns(struct json_writer *json, const char *const *columns, size_t count)
{
	json_key(json, "columns");
	json_array_begin(json);
	for (size_t i = 0; i < count; i++)
		json_text(json, columns[i]);
	json_array_end(json);
}

/* In a profile of memory, a function that calls nothing is the kind of the allocated object. */
static bool is_object(const struct function *function)
{
	return function->self == function->total && !strchr("HPT", function->type);
}

static void write_functions(const struct tree *tree, const struct function_table *table,
			    uint64_t divisor, bool memory_type, struct json_writer *json)
{
	static const char *const columns[] = { "self_value", "total_value" };

	json_key(json, "functions");
	json_array_begin(json);
	for (uint32_t i = 0; i < table->n_functions; i++)
		json_text(json, tree_label(tree, table->functions[i].first_node));
	json_array_end(json);

	json_key(json, "function_types");
	json_array_begin(json);
	for (uint32_t i = 0; i < table->n_functions; i++) {
		const struct function *function = &table->functions[i];

		json_text_sized(json, memory_type && is_object(function) ? "O" : &function->type,
				1);
	}
	json_array_end(json);

	json_key(json, "function_values");
	json_object_begin(json);
	write_columns(json, columns, ARRAY_SIZE(columns));
	json_key(json, "values");
	json_array_begin(json);
	for (uint32_t i = 0; i < table->n_functions; i++) {
		json_array_begin(json);
		json_uint(json, rounded(table->functions[i].self, divisor));
		json_uint(json, rounded(table->functions[i].total, divisor));
		json_array_end(json);
	}
	json_array_end(json);
	json_object_end(json);
}

static int write_nodes(const struct tree *tree, const struct function_table *table,
		       uint64_t divisor, struct json_writer *json)
{
	static const char *const columns[] = { "function_id", "parent_node_id", "self_value",
					       "total_value" };
	scoped_free uint32_t *row_of_node = calloc(table->n_nodes, sizeof(*row_of_node));
	uint32_t count;
	const struct tree_node *nodes = tree_nodes(tree, &count);

	if (!row_of_node)
		return -ENOMEM;

	json_key(json, "node_values");
	json_object_begin(json);
	write_columns(json, columns, ARRAY_SIZE(columns));
	json_key(json, "values");
	json_array_begin(json);
	for (uint32_t row = 0; row < count; row++) {
		uint32_t node = table->order[row];

		row_of_node[node] = row;
		json_array_begin(json);
		json_uint(json, table->function_of_node[node]);
		json_int(json, row > 0 ? (int64_t)row_of_node[nodes[node].parent] : -1);
		json_uint(json, rounded(nodes[node].self, divisor));
		json_uint(json, rounded(nodes[node].total, divisor));
		json_array_end(json);
	}
	json_array_end(json);
	json_object_end(json);
	return 0;
}

static void write_null_table(struct json_writer *json, const char *key)
{
	json_key(json, key);
	json_object_begin(json);
	json_key(json, "columns");
	json_null_value(json);
	json_key(json, "values");
	json_null_value(json);
	json_object_end(json);
}

/* The keys of an answer with data, which DeepFlow gives without values. */
static void write_no_columns(struct json_writer *json)
{
	json_object_begin(json);
	json_key(json, "functions");
	json_null_value(json);
	json_key(json, "function_types");
	json_null_value(json);
	write_null_table(json, "function_values");
	write_null_table(json, "node_values");
	json_object_end(json);
}

int node_columns_write(const struct tree *tree, uint64_t unit_divisor, bool memory_type,
		       struct json_writer *json)
{
	struct function_table table;
	int r;

	if (!tree) {
		write_no_columns(json);
		return bytes_error(json->out);
	}
	r = function_table_init(&table, tree);
	if (r < 0)
		return r;

	json_object_begin(json);
	write_functions(tree, &table, unit_divisor, memory_type, json);
	r = write_nodes(tree, &table, unit_divisor, json);
	json_object_end(json);
	function_table_release(&table);
	return r < 0 ? r : bytes_error(json->out);
}

struct level_writer {
	struct json_writer *json;
	uint64_t unit_divisor;
	uint64_t level;
};

static int level_enter(void *arg, const struct tree *tree, uint32_t index)
{
	struct level_writer *writer = arg;
	uint32_t count;
	const struct tree_node *node = &tree_nodes(tree, &count)[index];
	struct json_writer *json = writer->json;

	json_array_begin(json);
	json_uint(json, writer->level);
	json_text(json, writer->level > 0 ? tree_label(tree, index) : "root");
	json_uint(json, rounded(node->self, writer->unit_divisor));
	json_uint(json, rounded(node->total, writer->unit_divisor));
	json_array_end(json);
	writer->level++;
	return bytes_error(json->out);
}

static void level_leave(void *arg, const struct tree *tree, uint32_t index)
{
	struct level_writer *writer = arg;

	(void)tree;
	(void)index;
	writer->level--;
}

int node_levels_write(const struct tree *tree, uint64_t unit_divisor, struct json_writer *json)
{
	static const char *const columns[] = { "level", "function", "self_value", "total_value" };
	struct level_writer writer = { .json = json, .unit_divisor = unit_divisor };
	const struct tree_visitor visitor = { .enter = level_enter,
					      .leave = level_leave,
					      .arg = &writer };
	int r = 0;

	json_object_begin(json);
	write_columns(json, columns, ARRAY_SIZE(columns));
	json_key(json, "values");
	if (tree) {
		json_array_begin(json);
		r = tree_walk(tree, &visitor);
		json_array_end(json);
	} else {
		json_null_value(json);
	}
	json_object_end(json);
	return r < 0 ? r : bytes_error(json->out);
}
