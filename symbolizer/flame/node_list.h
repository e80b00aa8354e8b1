/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A finished tree as DeepFlow's two answers. Values are divided by @unit_divisor (on-cpu: ns to
 * microseconds, 1000; memory: 1). A tree that was finished by tree_finish_rounded() with this unit
 * has no remainders; others are rounded half up.
 */

#include "common/json_writer.h"
#include "symbolizer/flame/tree.h"

/* The array of {profile_location_str, node_id, parent_node_id, self_value, total_value},
 * depth-first. */
int node_list_write(const struct tree *tree, uint64_t unit_divisor, struct json_writer *json);

/* {functions, function_types, function_values, node_values}. */
int node_columns_write(const struct tree *tree, uint64_t unit_divisor, bool memory_type,
		       struct json_writer *json);
