/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Makes the rows of one unit of profile.in_process, and publishes them. */

#include "symbolizer/in_process/in_process.h"
#include "symbolizer/store/clickhouse/in_process_tables.h"

struct fill_options {
	struct store *store;
	struct resolver *resolver;
	const struct clock *clock;
	struct memory_budget *memory;
	const struct cancel *cancel;
	struct clickhouse_client *client;
};

struct fill_request {
	uint32_t unit;
	uint64_t state;     /* of all rows */
	bool is_correction; /* published only if the names are better than those that are there */
};

struct fill_result {
	uint64_t n_rows, n_stacks;
	bool has_pending_tables; /* symbol tables were still being made */
	bool is_published;
};

/*
 * After a negative errno the unit has its old rows, or, if an answer was lost, the new ones. Rows
 * are better if they have fewer frames without names, or, if these are as many, longer stacks.
 * Rows of fewer samples are never better: a replica may be late.
 */
int fill_unit(const struct fill_options *options, const struct fill_request *request,
	      struct fill_result *ret_result);
