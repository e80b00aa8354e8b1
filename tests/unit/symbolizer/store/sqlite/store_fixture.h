/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * For the tests of the SQLite store: a clock that stands still, batches of a small host, and sums
 * over the stored rows.
 */

#include "tests/support/unit.h"

#include "symbolizer/ingest/batch_decoder.h"
#include "symbolizer/store/sqlite/sqlite_store.h"
#include "tests/support/batch_builder.h"
#include "tests/support/store_view.h"

/* 2026-01-01 12:00 UTC: batches around noon overlap one day only. */
#define NOON (UINT64_C(1767268800) * NSEC_PER_SEC)

#define EPOCH (NOON - 3600 * NSEC_PER_SEC)

struct test_clock {
	struct clock clock;
	uint64_t wall_ns;
};

struct test_clock test_clock_at(uint64_t wall_ns);

/* Sets the clock in steps, as time passes: the store doubts a clock that jumps by days. */
void advance_clock(struct store *store, struct test_clock *clock, uint64_t wall_ns);

struct store *open_store(const char *folder, const struct test_clock *clock);

/*
 * Decodes and writes the batch of @builder, and frees @builder. Returns the outcome. @ret_missing
 * may be NULL; its arrays are in @arena.
 */
int write_batch(struct store *store, struct batch_builder *builder);
int write_batch_in(struct store *store, const char *tenant, struct batch_builder *builder,
		   struct arena *arena, struct store_missing *ret_missing);

/* Adds executable 1 (build-ID 1), process 1, series 1 (on-cpu), and stacks 1 and 2. */
void define_all(struct batch_builder *builder);

/* A batch [@closed - 5 s, @closed) of agent 1 with rows of series 1. */
struct batch_builder *batch_at(uint64_t sequence, uint64_t closed_wall_ns, bool defined);

struct totals {
	uint64_t n_rows;
	uint64_t sum;
	int n_damaged; /* blocks that the scan skipped */
};

/* Sums the rows of the tenant "default" in [@from_ns, @to_ns). @to_ns 0: no limit. */
struct totals total_of(struct store *store, uint64_t from_ns, uint64_t to_ns);

/* store_removed_until() of a view. */
int removed_until(struct store *store, uint64_t *ret_slot, enum store_removal *ret_reason);

#define assert_totals(store, from_ns, to_ns, rows, value)                                          \
	do {                                                                                       \
		struct totals totals_ = total_of((store), (from_ns), (to_ns));                     \
		assert_int_equal(totals_.n_rows, (rows));                                          \
		assert_int_equal(totals_.sum, (value));                                            \
	} while (0)
