/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Clients of one server that no query uses at present. A query borrows one, so that queries share
 * connections, and as many run at a time as there are callers. Thread-safe.
 */

#include "symbolizer/store/clickhouse/client.h"

struct client_pool;

int client_pool_new(const struct clickhouse_options *options, struct client_pool **ret_pool);

/* All clients were returned. */
struct client_pool *client_pool_free(struct client_pool *pool);

/* 0 or -ENOMEM. */
int client_pool_borrow(struct client_pool *pool, struct clickhouse_client **ret_client);
void client_pool_return_take(struct client_pool *pool, struct clickhouse_client *client);

DEFINE_SCOPED(struct client_pool *, client_pool_free);
