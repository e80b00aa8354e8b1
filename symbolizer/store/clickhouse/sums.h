/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Sums samples per (group, stack) in ClickHouse: one query, whose answer has a row for each item.
 * Samples of a batch that was written twice count once.
 */

#include "symbolizer/store/clickhouse/client.h"
#include "symbolizer/store/clickhouse/id_table.h"
#include "symbolizer/store/store_view.h"

/* A series of the view. */
struct sum_source {
	struct hash128 id;
	uint64_t lane;
};

struct sum_request {
	struct clickhouse_client *client;
	/* Of query->series[i].id, which is an index. */
	const struct sum_source *sources;
	struct id_table *stacks; /* gets the stacks of the items */
	const struct cancel *cancel;
	struct memory_budget *memory;
};

/* See store_sum(). Also errors of clickhouse_client_run(); -ENOSPC: too many stacks. */
int sums_query(const struct sum_request *request, const struct store_sum_query *query,
	       struct store_sums *ret_sums);
