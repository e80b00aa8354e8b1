/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Keeps the table profile.in_process of ClickHouse (store/clickhouse/in_process_tables.h) up to
 * date, in a thread of its own.
 *
 * Once a minute, each unit of five minutes whose rows do not have the state of its changes is
 * filled: its samples are summed per process, thread, event type, stack and minute, and written
 * with the names that their functions have now. A unit is filled once more when five minutes have
 * passed without a change: then the batches that were being stored during the fill are there.
 * Several servers may do so; one that finds a unit filled leaves it.
 *
 * When the server gets debuginfo, it corrects the names in units of the last hour (schedule.h).
 *
 * A failure is logged once; the next minute tries again.
 */

#include "common/clock.h"
#include "common/scoped.h"
#include "symbolizer/debuginfo/debuginfo_store.h"
#include "symbolizer/store/clickhouse/client.h"
#include "symbolizer/store/store_view.h"
#include "symbolizer/symbols/resolver.h"

struct in_process;

struct in_process_options {
	struct store *store; /* which records changes; borrowed, as the next four */
	struct resolver *resolver;
	struct debuginfo_store *debuginfo; /* of the resolver */
	const struct clock *clock;
	struct memory_budget *memory; /* of queries */
	struct clickhouse_options server;
	uint64_t retention_ns; /* rows of older samples are removed */
};

int in_process_start(const struct in_process_options *options, struct in_process **ret_in_process);

/* Ends a fill that is under way. Returns NULL. */
struct in_process *in_process_free(struct in_process *self);

DEFINE_SCOPED(struct in_process *, in_process_free);
