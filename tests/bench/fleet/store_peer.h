/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The peer of the sample store: a plain SQLite table with one row per sample row, and one
 * transaction per batch. It stores rows only, no stacks.
 *
 *   sample(series, slot, stack, value)
 *   series(id, host, service)           for queries, like the index of sample by (series, slot)
 *
 * A number of the table is that of the agent, and a number of its epoch above bit 24.
 */

#include "symbolizer/store/batch.h"

struct store_peer;

struct store_peer_usage {
	uint64_t wall_ns, n_rows, file_bytes;
};

/*
 * Creates @path, a new file. For measuring writes: WAL and synchronous=FULL, as our store. With
 * @for_queries: with the table of series and the index, and without waiting for the disk.
 */
int store_peer_open(const char *path, bool for_queries, struct store_peer **ret_peer);

int store_peer_write(struct store_peer *peer, uint32_t host, const struct batch *batch);

/* Closes the file; removes it unless it is for queries. */
struct store_peer *store_peer_close(struct store_peer *peer, struct store_peer_usage *ret_usage);
