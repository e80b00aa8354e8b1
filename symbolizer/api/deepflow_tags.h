/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The answers to DeepFlow's "show tags", "show tag TAG values" and "select TAG, ...". */

#include "symbolizer/api/deepflow_call.h"
#include "symbolizer/query/filter/deepflow_statement.h"

/* Writes the columns and values of an answer. Return 0 or an error for deepflow_fail(). */
int deepflow_write_tags(struct deepflow_call *call, struct json_writer *json);

/* The values in the range of call->profile that the conditions select. */
int deepflow_write_tag_values(struct deepflow_call *call,
			      const struct deepflow_statement *statement, struct json_writer *json);

/* The rows of a SELECT: the combinations of values in this range. A value that a series lacks is
 * "". */
int deepflow_write_selection(struct deepflow_call *call, const struct deepflow_statement *statement,
			     struct json_writer *json);

/* Begins and ends "columns" and "values"; a row is an array between them. */
void deepflow_table_begin(struct json_writer *json, const char *const *columns, size_t n_columns);
void deepflow_table_end(struct json_writer *json);

/* Writes a row of a value and its text for people, which are the same here. */
void deepflow_write_value(struct json_writer *json, const char *value);
