/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Writes a finished tree in the three formats of DeepFlow's answers. Values are divided by
 * @unit_divisor (on-cpu: 1000, from ns to microseconds; memory: 1) and rounded half up. A tree from
 * tree_finish_rounded() with this unit has no remainders.
 */

#include "common/json_writer.h"
#include "symbolizer/flame/tree.h"

/* Writes an array of {profile_location_str, node_id, parent_node_id, self_value, total_value} in
 * depth-first order. */
int node_list_write(const struct tree *tree, uint64_t unit_divisor, struct json_writer *json);

/* Writes {functions, function_types, function_values, node_values}. With @memory_type, a function
 * without callees gets the type 'O' (object). @tree NULL: the keys without values. */
int node_columns_write(const struct tree *tree, uint64_t unit_divisor, bool memory_type,
		       struct json_writer *json);

/* Writes {columns, values} with a row [level, function, self_value, total_value] for each node, in
 * depth-first order. The root has the level 0 and the label "root". Without a tree, values is
 * null. */
int node_levels_write(const struct tree *tree, uint64_t unit_divisor, struct json_writer *json);
