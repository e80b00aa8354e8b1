/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Converts the stacks of one minute, event type and tenant to rows of profile.in_process.
 *
 * Values are in the unit of answers (microseconds for times). What rounding a row down leaves is
 * added to the next row of the service, so that the sum of a service is its exact sum, rounded
 * down.
 *
 * Stacks of a process that differ only in addresses have one text, and one row, unless the first of
 * them has been flushed already. A row that follows it has another _id.
 */

#include "common/hash_table.h"
#include "symbolizer/query/profile.h"
#include "symbolizer/query/resolved_stacks.h"

struct fill_rows {
	/* Set by the caller. */
	const char *tenant;
	const struct event_type_info *event;
	uint64_t minute_s; /* unix time */
	uint64_t state;
	/* Takes the rows, when there are FILL_ROWS_BYTES of them. */
	int (*flush)(void *arg, struct bytes_view rows);
	void *arg;

	struct hash_table *remainders; /* hash of the service -> what rounding has left */
	struct hash_table *written;    /* row_id() -> struct written_row */
	struct bytes rows, stack;
	uint64_t n_rows, n_flushes;
};

#define FILL_ROWS_BYTES (16 * MIB)

int fill_rows_init(struct fill_rows *rows);
void fill_rows_release(struct fill_rows *rows);

/* Begins a minute or an event type: services have no remainder. */
void fill_rows_begin(struct fill_rows *rows, const struct event_type_info *event,
		     uint64_t minute_s);

struct stack_visitor fill_rows_visitor(struct fill_rows *rows);

/* Passes the last rows to flush(). */
int fill_rows_end(struct fill_rows *rows);
