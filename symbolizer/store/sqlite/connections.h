/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Connections of the SQLite engine: a set has one to hearth.db and some to day files, opened when
 * asked for and kept, the least used one closed first. The writer owns a set; readers borrow one of
 * a small pool, so that at most that many queries read at once and the rest wait.
 */

#include "symbolizer/store/sqlite/block.h"
#include "symbolizer/store/sqlite/store_state.h"

/* Day files that one set keeps open. A query over a month opens them one after the other. */
#define CONNECTION_DAYS 8

struct day_connection {
	day_number day;
	uint64_t used; /* when, in turns of the set */
	struct sqlite_db *db;
};

struct connection_set {
	const char *folder; /* borrowed, as are the next two */
	const struct store_identity *identity;
	struct store_state *state;
	bool writer;
	bool busy;
	uint64_t generation; /* of the state's list of days */
	uint64_t turn;
	struct sqlite_db *hearth;
	struct day_connection days[CONNECTION_DAYS];
	struct block_scratch scratch;
};

void connection_set_release(struct connection_set *set);

/* *ret_db belongs to the set, until the next call. */
int connection_set_hearth(struct connection_set *set, struct sqlite_db **ret_db);
int connection_set_day(struct connection_set *set, day_number day, struct sqlite_db **ret_db);
void connection_set_close_days(struct connection_set *set);

struct reader_pool;

int reader_pool_new(const char *folder, const struct store_identity *identity,
		    struct store_state *state, struct reader_pool **ret_pool);
struct reader_pool *reader_pool_free(struct reader_pool *pool);

enum reader_kind {
	READER_SCAN,   /* may take seconds: waits while as many as may run at once do */
	READER_LOOKUP, /* a few rows, found by a key: one set is never lent to scans */
};

/* Waits for a set that is free. Give it back with scoped(reader_returnp) or reader_return(). */
struct reader {
	struct reader_pool *pool;
	struct connection_set *set;
	enum reader_kind kind;
};
struct reader reader_borrow(struct reader_pool *pool, enum reader_kind kind);
void reader_returnp(struct reader *reader);

/* After a day left the list: closes what idle sets have open. */
void reader_pool_close_stale(struct reader_pool *pool);

DEFINE_SCOPED(struct reader_pool *, reader_pool_free);
