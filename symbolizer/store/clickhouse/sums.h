/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Sums samples per (group, stack) in ClickHouse: one query, whose answer has a row for each item.
 * Samples of a batch that was written twice count once.
 */

#include "symbolizer/store/clickhouse/client.h"
#include "symbolizer/store/clickhouse/id_table.h"
#include "symbolizer/store/clickhouse/sql.h"
#include "symbolizer/store/store_view.h"

/* A series of the view. */
struct sum_source {
	struct hash128 id;
	uint64_t lane;
};

struct sum_request {
	/* clickhouse_client_run() with a client. */
	int (*run)(void *arg, const struct clickhouse_query *query);
	void *run_arg;
	/* Of query->series[i].id, which is an index. */
	const struct sum_source *sources;
	struct id_table *stacks; /* gets the stacks of the items */
	const struct cancel *cancel;
	struct memory_budget *memory;
};

/* See store_sum(). Also errors of clickhouse_client_run(); -ENOSPC: too many stacks. */
int sums_query(const struct sum_request *request, const struct store_sum_query *query,
	       struct store_sums *ret_sums);

/*
 * Appends a SELECT of the samples of the series in the query's table "wanted", which has the
 * columns id and lane. Its columns are id, stack, slot and amount.
 */
void sums_add_samples(struct bytes *sql, const struct slot_range *range, bool without_stacks);
