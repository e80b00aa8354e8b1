/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The state of the engine, for the files of this folder. */

#include <pthread.h>

#include "symbolizer/store/segment_store/segment_store.h"
#include "symbolizer/store/data_folder/ballast.h"
#include "symbolizer/store/data_folder/trusted_clock.h"
#include "symbolizer/store/segment_view/process_cache.h"
#include "symbolizer/store/write_queue.h"

/* Lists of the processes of segments, which have 12 bytes a process. */
#define PROCESS_CACHE_BYTES (64 * MIB)

struct segment_store {
	struct store store;
	char *folder;
	int folder_fd; /* holds the lock */
	const struct clock *clock;
	struct segment_db *db;
	struct write_queue *queue;
	struct upkeep *upkeep;
	struct process_cache *processes; /* of views */

	pthread_mutex_t lock; /* of the fields below */
	struct ballast ballast;
	struct trusted_clock trusted;
	int last_error;    /* logged; of a write */
	bool is_too_large; /* logged: no further day can be removed */

	_Atomic uint64_t retention_ns, hourly_retention_ns, max_bytes; /* 0: no limit */
	uint64_t samples_removed_until; /* day: nothing is left to remove before it */
	_Atomic uint64_t first_day_by_age, first_day_by_size; /* removed before it; 0: none */
	_Atomic uint64_t n_batches, n_rows, n_too_old;
	_Atomic uint64_t n_removed_by_age, n_removed_by_size; /* days */
};

/* How long anything of a day is kept. 0: no limit. */
static inline uint64_t segment_store_day_retention_ns(const struct segment_store *self)
{
	const uint64_t samples_ns = self->retention_ns, hourly_ns = self->hourly_retention_ns;

	return samples_ns ? MAX(samples_ns, hourly_ns) : 0;
}

static inline struct segment_store *segment_store_of(struct store *store)
{
	return container_of(store, struct segment_store, store);
}

/* view.c: the operation open_view. */
int segment_store_open_view(struct store *store, const struct store_view_options *options,
			    struct store_view **ret_view);

/* Removes days beyond the limits before the databases are opened. Failures are logged. */
void segment_store_make_room(struct segment_store *self);

/* retention.c: removes nothing; refuses batches of days that were removed before a restart. */
int segment_store_retention_begin(struct segment_store *self);
/* The first day within the retention, 0: all are. The caller holds the lock. */
uint32_t segment_store_first_day(const struct segment_store *self);
int segment_store_retain(struct store *store, size_t *ret_removed); /* the operation */
int segment_store_removed_until(struct segment_store *self, uint64_t *ret_slot,
				enum store_removal *ret_reason);

/*
 * upkeep.c: the thread that flushes and merges. It must be freed before the segment_db.
 *
 * Rows in memory are flushed once they have existed for FLUSH_INTERVAL_NS, or reach half of a limit
 * (segment_db_is_half_full()).
 */
struct upkeep;
int upkeep_new(struct segment_store *self, struct upkeep **ret_upkeep);
struct upkeep *upkeep_free(struct upkeep *upkeep);

/* Flushes and merges now. */
int upkeep_run(struct segment_store *self);
