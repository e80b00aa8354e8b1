/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The storage engine that keeps samples in ClickHouse (schema.h), which several servers share.
 * Queries are answered by SQL; nothing but the numbers of agents is kept in memory.
 *
 * While ClickHouse does not answer, each operation fails, after at most four attempts, with the
 * errno of clickhouse_client_run(). A change between failure and success is logged once.
 */

#include "common/clock.h"
#include "symbolizer/store/clickhouse/client.h"
#include "symbolizer/store/store.h"

struct clickhouse_store_options {
	struct clickhouse_options server; /* with a database */
	const char *folder;               /* has the time that retention trusts */
	const struct clock *clock;
	bool has_in_process; /* creates in_process (in_process_tables.h), and records its changes */
};

#define CLICKHOUSE_STORE_MESSAGE_SIZE 1024

/*
 * Creates the database and the tables, unless they exist. If the server cannot be reached, they are
 * created when it answers, and the store opens nevertheless: agents keep their batches until then.
 * Another error has a message in @ret_message.
 */
int clickhouse_store_open(const struct clickhouse_store_options *options, struct store **ret_store,
			  char ret_message[CLICKHOUSE_STORE_MESSAGE_SIZE]);
