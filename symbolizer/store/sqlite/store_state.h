/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What the threads of the SQLite engine share in memory: which day files there are, whose host each
 * series is, when a host was last heard of. All of it can be rebuilt from the files. Thread-safe;
 * locks are held for moments only.
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

/* Adds the day, or sets its totals. */
int store_state_set_day(struct store_state *state, day_number day, const struct day_total *total);
bool store_state_has_day(struct store_state *state, day_number day);

/* Takes @day out of the list. Connections to it that are cached become stale:
 * store_state_generation() changes. */
void store_state_take_day(struct store_state *state, day_number day);
uint64_t store_state_generation(struct store_state *state);

/* The days from @first to @last that have a file, ascending, in @arena. */
int store_state_days(struct store_state *state, day_number first, day_number last,
		     struct arena *arena, struct day_entry **ret_days, size_t *ret_count);

int store_state_set_series_host(struct store_state *state, uint32_t series, uint32_t host);

/* The hosts of these series, each once: a set of uint32_t. Series that are not known add nothing.
 */
int store_state_hosts_of(struct store_state *state, const uint32_t *series, size_t count,
			 struct hash_table *hosts);

/* Later times win. */
int store_state_set_host_seen(struct store_state *state, uint32_t host, uint64_t wall_ns);
uint64_t store_state_host_seen(struct store_state *state, uint32_t host);

/* Sums for statistics. */
struct store_counts {
	uint64_t n_batches, n_rows, n_series;
};
struct store_counts store_state_counts(struct store_state *state);

DEFINE_SCOPED(struct store_state *, store_state_free);
