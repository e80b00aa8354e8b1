/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The peer of the sample store: a plain SQLite table with one row per sample row, and one
 * transaction per batch. It stores rows only, no definitions.
 */

#include "symbolizer/store/batch.h"

struct store_peer;

struct store_peer_usage {
	uint64_t wall_ns, n_rows, file_bytes;
};

/* Creates @path, a new file: WAL and synchronous=FULL, as our store. */
int store_peer_open(const char *path, struct store_peer **ret_peer);

/* @host makes the numbers of different agents distinct. */
int store_peer_write(struct store_peer *peer, uint32_t host, const struct batch *batch);

/* Closes the file, and removes it. */
struct store_peer *store_peer_close(struct store_peer *peer, struct store_peer_usage *ret_usage);
