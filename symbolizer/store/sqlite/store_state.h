/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * State that the threads of the SQLite engine share in memory: the list of day files, the host of
 * each series, and the time of the last batch of each host. It can be rebuilt from the files.
 * Thread-safe; locks are held only briefly.
 */

#include "common/arena.h"
#include "common/hash_table.h"
#include "symbolizer/store/sqlite/schema.h"

struct store_state;

int store_state_new(struct store_state **ret_state);
struct store_state *store_state_free(struct store_state *state);

struct day_entry {
	day_number day;
	struct day_total total;
};

/* Adds the day, or updates its totals. */
int store_state_set_day(struct store_state *state, day_number day, const struct day_total *total);
bool store_state_has_day(struct store_state *state, day_number day);

/*
 * Removes @day from the list. store_state_generation() changes, which marks cached connections to
 * day files as stale.
 */
void store_state_take_day(struct store_state *state, day_number day);
uint64_t store_state_generation(struct store_state *state);

/* Lists the days from @first to @last that have a file, ascending. The array is in @arena. */
int store_state_days(struct store_state *state, day_number first, day_number last,
		     struct arena *arena, struct day_entry **ret_days, size_t *ret_count);

int store_state_set_series_host(struct store_state *state, uint32_t series, uint32_t host);

/*
 * store_state_series_end() returns the highest series ID plus one. store_state_forget_series()
 * removes the IDs from @end on, because the transaction that added them was rolled back.
 */
uint32_t store_state_series_end(struct store_state *state);
void store_state_forget_series(struct store_state *state, uint32_t end);

/* Adds the hosts of these series to @hosts, a set of uint32_t. Unknown series are skipped. */
int store_state_hosts_of(struct store_state *state, const uint32_t *series, size_t count,
			 struct hash_table *hosts);

/* Stores the time of the host's last batch, unless a later time is stored already. */
int store_state_set_host_seen(struct store_state *state, uint32_t host, uint64_t wall_ns);
uint64_t store_state_host_seen(struct store_state *state, uint32_t host);

/* Totals for statistics. */
struct store_counts {
	uint64_t n_batches, n_rows, n_series;
};
struct store_counts store_state_counts(struct store_state *state);

DEFINE_SCOPED(struct store_state *, store_state_free);
