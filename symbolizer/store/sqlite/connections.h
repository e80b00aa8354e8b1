/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Connections of the SQLite engine. A set has one connection to hearth.db and some to day files. It
 * opens them on demand, keeps them, and closes the least recently used one. The writer has a set.
 * Readers borrow a set from a small pool, which limits the number of concurrent queries.
 */

#include "symbolizer/store/sqlite/block.h"
#include "symbolizer/store/sqlite/store_state.h"

/* Most day files that a reader keeps open. A query over a month opens one after another. */
#define READER_DAYS 8

/* Most day files that the writer keeps open, and so the most that a group of batches changes. */
#define WRITER_DAYS 16

struct day_connection {
	day_number day;
	uint64_t used; /* value of set->turn at the last use */
	struct sqlite_db *db;
};

struct connection_set {
	const char *folder; /* borrowed, like the next two */
	const struct store_identity *identity;
	struct store_state *state;
	bool writer;
	bool busy;
	uint64_t generation; /* store_state_generation() at the last use */
	uint64_t turn;
	struct sqlite_db *hearth;
	struct day_connection days[WRITER_DAYS];
	struct block_scratch scratch;
};

void connection_set_release(struct connection_set *set);

/* The set owns *ret_db, which is valid until the next call. */
int connection_set_hearth(struct connection_set *set, struct sqlite_db **ret_db);
int connection_set_day(struct connection_set *set, day_number day, struct sqlite_db **ret_db);
void connection_set_close_days(struct connection_set *set);

struct reader_pool;

int reader_pool_new(const char *folder, const struct store_identity *identity,
		    struct store_state *state, struct reader_pool **ret_pool);
struct reader_pool *reader_pool_free(struct reader_pool *pool);

enum reader_kind {
	READER_SCAN,   /* may take seconds: waits while the maximum of scans runs */
	READER_LOOKUP, /* a few rows, found by key: one set is reserved for these */
};

/* Waits for a free set. Declare the reader scoped(reader_returnp), which returns the set. */
struct reader {
	struct reader_pool *pool;
	struct connection_set *set;
	enum reader_kind kind;
};
struct reader reader_borrow(struct reader_pool *pool, enum reader_kind kind);
void reader_returnp(struct reader *reader);

/* Call it after a day was removed from the list: closes the day files of idle sets. */
void reader_pool_close_stale(struct reader_pool *pool);

DEFINE_SCOPED(struct reader_pool *, reader_pool_free);
