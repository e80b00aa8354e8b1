/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/bench/fleet/store_peer.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/clock.h"

struct store_peer {
	sqlite3 *db;
	sqlite3_stmt *insert, *begin, *commit;
	char *path;
	uint64_t wall_ns, n_rows;
};

static int prepare(struct store_peer *peer, const char *sql, sqlite3_stmt **ret_statement)
{
	if (sqlite3_prepare_v2(peer->db, sql, -1, ret_statement, NULL) == SQLITE_OK)
		return 0;
	fprintf(stderr, "cannot prepare '%s': %s\n", sql, sqlite3_errmsg(peer->db));
	return -EIO;
}

static int open_table(struct store_peer *peer)
{
	static const char setup[] =
		"PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;"
		"CREATE TABLE sample (series INTEGER, slot INTEGER, stack INTEGER, value INTEGER)";
	int r;

	if (sqlite3_open(peer->path, &peer->db) != SQLITE_OK ||
	    sqlite3_exec(peer->db, setup, NULL, NULL, NULL) != SQLITE_OK) {
		fprintf(stderr, "cannot create '%s': %s\n", peer->path, sqlite3_errmsg(peer->db));
		return -EIO;
	}
	r = prepare(peer, "INSERT INTO sample VALUES (?, ?, ?, ?)", &peer->insert);
	if (r == 0)
		r = prepare(peer, "BEGIN", &peer->begin);
	if (r == 0)
		r = prepare(peer, "COMMIT", &peer->commit);
	return r;
}

int store_peer_open(const char *path, struct store_peer **ret_peer)
{
	struct store_peer *peer = calloc(1, sizeof(*peer));
	int r = -ENOMEM;

	if (peer)
		peer->path = strdup(path);
	if (peer && peer->path)
		r = open_table(peer);
	if (r < 0) {
		if (peer)
			(void)store_peer_close(peer, &(struct store_peer_usage){});
		return r;
	}
	*ret_peer = peer;
	return 0;
}

static int run(sqlite3_stmt *statement)
{
	int r = sqlite3_step(statement);

	(void)sqlite3_reset(statement);
	return r == SQLITE_DONE ? 0 : -EIO;
}

int store_peer_write(struct store_peer *peer, uint32_t host, const struct batch *batch)
{
	uint64_t began_ns = clock_monotonic_ns(&system_clock);
	int r;

	r = run(peer->begin);
	for (uint32_t i = 0; r == 0 && i < batch->n_rows; i++) {
		const struct batch_row *row = &batch->rows[i];

		(void)sqlite3_bind_int64(peer->insert, 1,
					 (int64_t)((uint64_t)host << 24 | row->series));
		(void)sqlite3_bind_int64(peer->insert, 2, (int64_t)row->slot);
		(void)sqlite3_bind_int64(peer->insert, 3,
					 (int64_t)((uint64_t)host << 24 | row->stack));
		(void)sqlite3_bind_int64(peer->insert, 4, (int64_t)row->value);
		r = run(peer->insert);
	}
	if (r == 0)
		r = run(peer->commit);
	peer->wall_ns += clock_monotonic_ns(&system_clock) - began_ns;
	peer->n_rows += batch->n_rows;
	return r;
}

struct store_peer *store_peer_close(struct store_peer *peer, struct store_peer_usage *ret_usage)
{
	struct stat status = {};

	(void)sqlite3_finalize(peer->insert);
	(void)sqlite3_finalize(peer->begin);
	(void)sqlite3_finalize(peer->commit);
	/* The last connection moves the content of the WAL to the file. */
	(void)sqlite3_close(peer->db);
	if (peer->path) {
		(void)stat(peer->path, &status);
		(void)unlink(peer->path);
	}
	*ret_usage = (struct store_peer_usage){ .wall_ns = peer->wall_ns,
						.n_rows = peer->n_rows,
						.file_bytes = (uint64_t)status.st_size };
	free(peer->path);
	free(peer);
	return NULL;
}
