/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The two large tables of a batch, as columns in an arena. proto/batch.proto says what each column
 * holds.
 */

#include "agent/sample/window.h"
#include "common/arena.h"
#include "proto/batch.pb-c.h"

/*
 * Sorts @window's stacks root first. *ret_table is NULL when there are none. 0, -ENOMEM, -EFBIG
 * (more frames than a batch can hold), -ERANGE (an executable number that does not fit beside the
 * kind).
 */
int encode_stacks(struct window *window, struct arena *arena, Hearth__V1__StackTable **ret_table);

/*
 * Sorts @window's rows and joins those of equal (series, slot, stack), which makes them fewer.
 * *ret_table is NULL when there are none. 0, -ENOMEM, -EFBIG (more than BATCH_MAX_ROWS), -ERANGE (a
 * difference that fits no sint32).
 */
int encode_rows(struct window *window, struct arena *arena, Hearth__V1__RowTable **ret_table);
