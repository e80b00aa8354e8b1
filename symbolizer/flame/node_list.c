/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The two formats of ProfileTracing. The ID of a node is the UUID of its path, the labels from
 * below the root joined with ';'. One buffer holds the path of the current node of the walk:
 * entering a node appends its label, leaving it removes the label.
 */

#include "symbolizer/flame/node_list.h"

#include "common/uuid5.h"
#include "symbolizer/flame/function_table.h"

/* The longest path is 2.6 MB: STACK_MAX_FRAMES frames and three levels above them, of
 * LABEL_MAX_BYTES each. */
#define PATH_MAX_BYTES (4 * MIB)

/* Divides and rounds half up, without overflow. */
static uint64_t rounded(uint64_t value, uint64_t divisor)
{
	uint64_t rest = value % divisor;

	return value / divisor + (rest >= divisor - rest ? 1 : 0);
}

struct node_list_writer {
	struct json_writer *json;
	uint64_t unit_divisor;
	struct bytes path;
	char (*ids)[UUID_TEXT_SIZE]; /* of the current node and its ancestors, by depth; root: "" */
	size_t depth;
	size_t max_depth;
};

static int grow_ids(struct node_list_writer *writer)
{
	size_t max_depth = writer->max_depth ? writer->max_depth * 2 : 64;
	void *ids = realloc(writer->ids, max_depth * sizeof(*writer->ids));

	if (!ids)
		return -ENOMEM;

	writer->ids = ids;
	writer->max_depth = max_depth;
	return 0;
}

static int list_enter(void *arg, const struct tree *tree, uint32_t index)
{
	struct node_list_writer *writer = arg;
	uint32_t count;
	const struct tree_node *node = &tree_nodes(tree, &count)[index];
	struct json_writer *json = writer->json;
	char *id;
	int r;

	if (writer->depth == writer->max_depth) {
		r = grow_ids(writer);
		if (r < 0)
			return r;
	}

	id = writer->ids[writer->depth];
	id[0] = '\0';
	if (writer->depth > 0) {
		if (writer->depth > 1)
			bytes_append_byte(&writer->path, ';');
		bytes_append(&writer->path, tree_label(tree, index),
			     tree_label_length(tree, index));
		r = bytes_error(&writer->path);
		if (r < 0)
			return r;
		uuid5_oid((const char *)writer->path.data, writer->path.size, id);
	}

	json_object_begin(json);
	json_key_text(json, "profile_location_str", tree_label(tree, index));
	json_key_text(json, "node_id", id);
	json_key_text(json, "parent_node_id",
		      writer->depth > 0 ? writer->ids[writer->depth - 1] : "-1");
	json_key_uint(json, "self_value", rounded(node->self, writer->unit_divisor));
	json_key_uint(json, "total_value", rounded(node->total, writer->unit_divisor));
	json_object_end(json);
	writer->depth++;
	return bytes_error(json->out);
}

static void list_leave(void *arg, const struct tree *tree, uint32_t index)
{
	struct node_list_writer *writer = arg;

	writer->depth--;
	if (writer->depth > 0)
		writer->path.size -= tree_label_length(tree, index) + (writer->depth > 1 ? 1 : 0);
}

int node_list_write(const struct tree *tree, uint64_t unit_divisor, struct json_writer *json)
{
	struct node_list_writer writer = {
		.json = json,
		.unit_divisor = unit_divisor,
		.path = BYTES_INIT(PATH_MAX_BYTES),
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

	bytes_release(&writer.path);
	free(writer.ids);
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

int node_columns_write(const struct tree *tree, uint64_t unit_divisor, bool memory_type,
		       struct json_writer *json)
{
	struct function_table table;
	int r;

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
