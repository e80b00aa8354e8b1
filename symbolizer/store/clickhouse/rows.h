/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Converts batches into rows of the tables (schema.h), as RowBinary in memory.
 *
 * Definitions are added for each day on which a batch uses them, unless the rows were written
 * before: the set of written rows has a maximum size and is only an optimization, because equal
 * rows merge. Used by one thread.
 */

#include "symbolizer/store/clickhouse/schema.h"
#include "symbolizer/store/head/numbers.h"
#include "symbolizer/store/store.h"

/*
 * In the order of writing. MARKERS are rows of the table samples: a batch is stored once its marker
 * is there, so nothing may be written after the markers.
 */
enum rows_table {
	ROWS_HOSTS,
	ROWS_EXECUTABLES,
	ROWS_CODE_OBJECTS,
	ROWS_NAMED_FRAMES,
	ROWS_PATH_SETS,
	ROWS_PROCESSES,
	ROWS_SERIES,
	ROWS_CALLERS,
	ROWS_STACKS,
	ROWS_BATCHES,
	ROWS_SAMPLES,
	ROWS_MARKERS,
	ROWS_TABLE_END,
};

/* "samples (day, lane, ...)" for INSERT INTO. */
const char *rows_table_columns(enum rows_table table);

/* Most days that one batch may overlap, as an agent that was stopped continues after a weekend. */
#define ROWS_MAX_DAYS 16

struct batch_days {
	uint32_t days[ROWS_MAX_DAYS]; /* ascending */
	size_t count;
};

/* The days of the rows of @batch and of the time that it covers. 0; -EINVAL: too many. */
int batch_days_find(const struct batch *batch, struct batch_days *ret_days);

/* The column series of a batch's marker. */
struct hash128 rows_marker(const char *tenant, const struct batch *batch);

/* The column lane. */
uint64_t rows_lane(const char *tenant, const char *service, const char *event);

/* The column id of an executable. */
struct hash128 rows_executable_id(const char *tenant, const struct executable_id *id);

struct rows;

/* The rows of each table have at most @max_bytes. 0 or -ENOMEM. */
int rows_new(size_t max_bytes, struct rows **ret_rows);
struct rows *rows_free(struct rows *rows);

/*
 * Adds the rows of @batch on @days. All numbers of the batch are in @numbers. @stored_ns: wall
 * clock. 0; -EFBIG or -ENOMEM: no row was added.
 */
int rows_add(struct rows *rows, const char *tenant, const struct batch *batch,
	     const struct numbers *numbers, const struct batch_days *days, uint64_t stored_ns);

/* The rows of a table for an INSERT. */
struct bytes_view rows_of(const struct rows *rows, enum rows_table table);

/* After all tables were written: empties them, and remembers their definitions as written. */
void rows_written(struct rows *rows);

/* After an error: empties the tables, and forgets which definitions were written. */
void rows_discard(struct rows *rows);

DEFINE_SCOPED(struct rows *, rows_free);
