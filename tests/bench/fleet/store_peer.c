/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/bench/fleet/store_peer.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/hash_table.h"

struct store_peer {
	sqlite3 *db;
	sqlite3_stmt *insert, *begin, *commit, *insert_process, *insert_series;
	char *path;
	bool for_queries;
	struct hash_table *epochs; /* struct epoch_key -> uint64_t number, from 1 */
	uint64_t wall_ns, n_rows;
};

struct epoch_key {
	uint64_t host, epoch;
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
	static const char table[] =
		"PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;"
		"CREATE TABLE sample (series INTEGER, slot INTEGER, stack INTEGER, value INTEGER)";
	static const char more[] =
		"PRAGMA synchronous=OFF;"
		"CREATE TABLE process (id INTEGER PRIMARY KEY, service TEXT);"
		"CREATE TABLE series (id INTEGER PRIMARY KEY, host INTEGER, service TEXT);"
		"CREATE INDEX sample_by_series ON sample (series, slot)";

	if (sqlite3_open(peer->path, &peer->db) != SQLITE_OK ||
	    sqlite3_exec(peer->db, table, NULL, NULL, NULL) != SQLITE_OK ||
	    (peer->for_queries && sqlite3_exec(peer->db, more, NULL, NULL, NULL) != SQLITE_OK)) {
		fprintf(stderr, "cannot create '%s': %s\n", peer->path, sqlite3_errmsg(peer->db));
		return -EIO;
	}
	return 0;
}

static int prepare_all(struct store_peer *peer)
{
	int r = prepare(peer, "INSERT INTO sample VALUES (?, ?, ?, ?)", &peer->insert);

	if (r == 0)
		r = prepare(peer, "BEGIN", &peer->begin);
	if (r == 0)
		r = prepare(peer, "COMMIT", &peer->commit);
	if (r < 0 || !peer->for_queries)
		return r;
	r = prepare(peer, "INSERT OR REPLACE INTO process VALUES (?, ?)", &peer->insert_process);
	if (r == 0)
		r = prepare(peer,
			    "INSERT OR REPLACE INTO series SELECT ?, ?, service FROM process "
			    "WHERE id = ?",
			    &peer->insert_series);
	return r;
}

int store_peer_open(const char *path, bool for_queries, struct store_peer **ret_peer)
{
	struct store_peer *peer = calloc(1, sizeof(*peer));
	int r = -ENOMEM;

	if (!peer)
		return -ENOMEM;
	peer->for_queries = for_queries;
	peer->path = strdup(path);
	if (peer->path)
		r = hash_table_new(sizeof(struct epoch_key), sizeof(uint64_t), 0, &peer->epochs);
	if (r == 0)
		r = open_table(peer);
	if (r == 0)
		r = prepare_all(peer);
	if (r < 0) {
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

static int write_series(struct store_peer *peer, uint32_t host, uint64_t epoch,
			const struct batch *batch)
{
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < batch->n_processes; i++) {
		(void)sqlite3_bind_int64(peer->insert_process, 1,
					 (int64_t)(epoch | batch->processes[i].number));
		(void)sqlite3_bind_text(peer->insert_process, 2, batch->processes[i].name, -1,
					SQLITE_TRANSIENT);
		r = run(peer->insert_process);
	}
	for (uint32_t i = 0; r == 0 && i < batch->n_series; i++) {
		(void)sqlite3_bind_int64(peer->insert_series, 1,
					 (int64_t)(epoch | batch->series[i].number));
		(void)sqlite3_bind_int64(peer->insert_series, 2, host);
		(void)sqlite3_bind_int64(peer->insert_series, 3,
					 (int64_t)(epoch | batch->series[i].process));
		r = run(peer->insert_series);
	}
	return r;
}

static int write_rows(struct store_peer *peer, uint64_t epoch, const struct batch *batch)
{
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < batch->n_rows; i++) {
		const struct batch_row *row = &batch->rows[i];

		(void)sqlite3_bind_int64(peer->insert, 1, (int64_t)(epoch | row->series));
		(void)sqlite3_bind_int64(peer->insert, 2, (int64_t)row->slot);
		(void)sqlite3_bind_int64(peer->insert, 3, (int64_t)(epoch | row->stack));
		(void)sqlite3_bind_int64(peer->insert, 4, (int64_t)row->value);
		r = run(peer->insert);
	}
	return r;
}

int store_peer_write(struct store_peer *peer, uint32_t host, const struct batch *batch)
{
	const struct epoch_key key = { .host = host, .epoch = batch->epoch };
	uint64_t began_ns = clock_monotonic_ns(&system_clock);
	uint64_t *number, epoch;
	int r;

	r = hash_table_insert(peer->epochs, &key, (void **)&number);
	if (r < 0)
		return r;
	if (*number == 0)
		*number = hash_table_count(peer->epochs);
	epoch = *number << 24;
	r = run(peer->begin);
	if (r == 0 && peer->for_queries)
		r = write_series(peer, host, epoch, batch);
	if (r == 0)
		r = write_rows(peer, epoch, batch);
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
	(void)sqlite3_finalize(peer->insert_process);
	(void)sqlite3_finalize(peer->insert_series);
	/* Closing the last connection moves the content of the WAL to the file. */
	(void)sqlite3_close(peer->db);
	if (peer->path) {
		(void)stat(peer->path, &status);
		if (!peer->for_queries)
			(void)unlink(peer->path);
	}
	*ret_usage = (struct store_peer_usage){ .wall_ns = peer->wall_ns,
						.n_rows = peer->n_rows,
						.file_bytes = (uint64_t)status.st_size };
	(void)hash_table_free(peer->epochs);
	free(peer->path);
	free(peer);
	return NULL;
}
