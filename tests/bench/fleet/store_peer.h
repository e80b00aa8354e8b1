/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The peer that benchmarks compare the sample store with: a plain SQLite table with one row per
 * sample row, and one transaction per batch. It stores rows only, no stacks.
 *
 *   sample(series, slot, stack, value)
 *   process(id, service)                the tables process and series, and an index of sample by
 *   series(id, host, service)           (series, slot), exist only for benchmarks of queries
 *
 * The columns series, stack and id contain (number of the epoch << 24) | number that the agent
 * assigned. The peer numbers epochs from 1.
 */

#include "symbolizer/store/batch.h"

struct store_peer;

struct store_peer_usage {
	uint64_t wall_ns, n_rows, file_bytes;
};

/*
 * Creates @path, a new file. By default the file is for measuring writes: it uses WAL and
 * synchronous=FULL, as Hearth's store does. With @for_queries it has the additional tables and the
 * index, and writes do not wait for the disk.
 */
int store_peer_open(const char *path, bool for_queries, struct store_peer **ret_peer);

int store_peer_write(struct store_peer *peer, uint32_t host, const struct batch *batch);

/* Closes the file; removes it unless it is for queries. */
struct store_peer *store_peer_close(struct store_peer *peer, struct store_peer_usage *ret_usage);
