/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Writes groups of batches to ClickHouse. The steps for a group:
 *
 *   find      one query for the markers of all batches: a batch with the markers of all its days is
 *             a duplicate, whichever server stored it
 *   learn     the numbers of the agents, in memory (store/head/agents.h)
 *   convert   batches to rows (rows.h)
 *   insert    one INSERT for each table that has rows, the samples with the markers last; before
 *             them, if it is wanted, the changes for the table in_process (in_process_tables.h)
 *
 * If an INSERT fails, no batch of the group is reported as stored, and the agents send them again.
 * The rows that are there already have the same keys then, and merge.
 */

#include "common/clock.h"
#include "symbolizer/store/clickhouse/rows.h"
#include "symbolizer/store/write_queue.h"

struct clickhouse_writer;

struct clickhouse_writer_options {
	struct clickhouse_client *client; /* borrowed, used by the writer alone */
	const struct clock *clock;
	size_t max_numbers_bytes; /* of one agent */
	size_t max_agents;
	size_t max_rows_bytes; /* of each table in one group; a batch above it is -EFBIG */
	bool records_changes;  /* of in_process */
};

int clickhouse_writer_new(const struct clickhouse_writer_options *options,
			  struct clickhouse_writer **ret_writer);
struct clickhouse_writer *clickhouse_writer_free(struct clickhouse_writer *writer);

/* Older batches are refused from now on (STORE_TOO_OLD). 0, the default: none. */
void clickhouse_writer_set_retention(struct clickhouse_writer *writer, uint64_t retention_ns);

/* See write_queue_options.write_group; @arg is the writer. */
size_t clickhouse_writer_write_group(void *arg, struct store_write *const *writes, size_t count);

DEFINE_SCOPED(struct clickhouse_writer *, clickhouse_writer_free);
