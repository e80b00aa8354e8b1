/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The two large tables of a batch, as columns in an arena. proto/batch.proto describes the columns.
 */

#include "agent/sample/window.h"
#include "common/arena.h"
#include "proto/batch.pb-c.h"

/*
 * Sorts the stacks of @window, root first. *ret_table is NULL if there are none. 0, -ENOMEM, -EFBIG
 * (more frames than fit into a batch), -ERANGE (a frame without a kind).
 */
int encode_stacks(struct window *window, struct arena *arena, Hearth__V1__StackTable **ret_table);

/*
 * Sorts the rows of @window and joins rows with equal (series, slot, stack), which changes n_rows.
 * *ret_table is NULL if there are none. 0, -ENOMEM, -EFBIG (more than BATCH_MAX_ROWS), -ERANGE (a
 * difference that does not fit into sint32).
 */
int encode_rows(struct window *window, struct arena *arena, Hearth__V1__RowTable **ret_table);
