/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Shared by rows.c (tables, samples) and rows_define.c (definitions). */

#include "common/hash_table.h"
#include "common/vec.h"
#include "symbolizer/store/clickhouse/row_binary.h"
#include "symbolizer/store/clickhouse/rows.h"

/* Definitions that are remembered as written. About 100 MiB. */
#define ROWS_MAX_WRITTEN (1u << 21)

struct written_key {
	struct hash128 content;
	uint32_t day;
	uint32_t table; /* enum rows_table */
};

struct sample {
	struct hash128 series, stack;
	uint64_t lane, slot, value;
};

struct rows {
	struct bytes tables[ROWS_TABLE_END];
	struct hash_table *written;   /* struct written_key, a set */
	struct hash_table *stack_ids; /* u32 number -> struct hash128, of one batch and day */
	struct bytes row;             /* the row or the hash input that is being made */
	VEC_DEFINE(, struct sample) samples;
};

/* The batch and the day whose rows are made. */
struct rows_batch {
	struct rows *rows;
	const char *tenant;
	const struct batch *batch;
	const struct numbers *numbers;
	uint32_t day;
};

/* Begins the input of an ID in rows->row: equal content of two tenants or tables differs. */
void rows_begin_id(struct rows_batch *of, enum rows_table table);
struct hash128 rows_end_id(struct rows_batch *of);

/* Appends the input of the ID of an executable. */
void rows_add_executable_identity(struct bytes *input, const char *tenant,
				  const struct executable_id *id);

/*
 * Begins a row in rows->row. False: a row of @content was written on this day, or an error: see
 * rows_error(). rows_end() adds the row to the table.
 */
bool rows_begin(struct rows_batch *of, enum rows_table table, const struct hash128 *content);
void rows_end(struct rows_batch *of, enum rows_table table);

int rows_error(const struct rows *rows);

/* Adds the definitions of the batch on its day. */
void rows_add_definitions(struct rows_batch *of);

/* Adds the series with all that it refers to. False: the series has an empty definition. */
bool rows_add_series(struct rows_batch *of, uint32_t number, struct hash128 *ret_id,
		     uint64_t *ret_lane);

/* Adds the stack with all that it refers to. Number 0 has the ID zero. */
struct hash128 rows_add_stack(struct rows_batch *of, uint32_t number);
