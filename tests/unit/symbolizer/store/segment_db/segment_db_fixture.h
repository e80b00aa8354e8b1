/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A segment_db with the decoder of ingest, and batches of agents as their bodies.
 *
 * A batch has rows of two services: "web" (on-cpu, period PERIOD_NS, series 1, stacks 1 and 2) and
 * "db" (off-cpu, series 2).
 */

#include "tests/support/batch_builder.h"
#include "tests/support/unit.h"

#include "symbolizer/ingest/batch_payload.h"
#include "symbolizer/store/segment_db/segment_db.h"

#define SECOND   NSEC_PER_SEC
#define HOUR     (3600 * NSEC_PER_SEC)
#define NOON     (UINT64_C(1767268800) * NSEC_PER_SEC) /* 2026-01-01 12:00 UTC */
#define MIDNIGHT (NOON + 12 * HOUR)
#define EPOCH    UINT64_C(1000)
#define ONE_DAY  (24 * HOUR)

/* The file of the day of NOON. */
#define DAY "segments-2026-01-01.db"

#define PERIOD_NS (10 * NSEC_PER_MSEC)

/* Of a batch of batch_of(), in ns. */
#define ROWS_OF_BATCH 4
#define WEB_OF_BATCH  (7 * PERIOD_NS)
#define DB_OF_BATCH   UINT64_C(100)
#define SUM_OF_BATCH  (WEB_OF_BATCH + DB_OF_BATCH)

struct segment_db_options test_options(const char *folder);
struct segment_db *open_db(const char *folder);

/*
 * What is done between writes and reads, for number 0 to N_STEPS - 1: the result must not change.
 * Returns @db, or the same files opened again.
 */
enum { N_STEPS = 4 };
struct segment_db *step(struct segment_db *db, const char *folder, int number);

/* Adds the definitions of all numbers that batch_of() uses. */
void define_all(struct batch_builder *builder);

/* A batch [@closed - 5 s, @closed). */
struct batch_builder *batch_of(uint8_t agent, uint64_t sequence, uint64_t closed_wall_ns,
			       bool defines);

/* A decoded body, to be written in a group. */
struct test_batch {
	struct arena *arena;
	struct bytes body;
	struct batch batch;
	struct store_missing missing;
};

/* Frees @builder. */
void test_batch_init(struct test_batch *test, struct batch_builder *builder);
void test_batch_release(struct test_batch *test);
struct segment_db_write test_batch_write(struct test_batch *test, const char *tenant);

/* Writes one batch, and frees @builder. Returns its result. */
int write_batch_in(struct segment_db *db, const char *tenant, struct batch_builder *builder);
int write_batch(struct segment_db *db, struct batch_builder *builder);

struct totals {
	size_t n_segments, n_rollups, n_rows;
	uint64_t sum; /* in the unit of the event type */
	size_t n_damaged;
};

/* All segments that the query selects. Fails if an index entry differs from its segment. */
struct totals totals_of(struct segment_db *db, const struct segment_db_query *query);

/* All samples. */
struct totals total(struct segment_db *db);

/* Flushes, and checks that all rows of @n batches of batch_of() are in segments. */
void assert_batches(struct segment_db *db, uint64_t n);

/* Runs @sql on a file of the folder, from a connection of its own. */
void run_sql(const char *folder, const char *file, const char *sql);
int64_t query_number(const char *folder, const char *file, const char *sql);

/* Copies a file of the folder, with its WAL. */
void copy_file(const char *folder, const char *from, const char *to);
