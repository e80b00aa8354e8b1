/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The SQLite engine's store, for the files that implement its operations.
 */

#include <pthread.h>

#include "symbolizer/store/data_folder/ballast.h"
#include "symbolizer/store/sqlite/node_cache.h"
#include "symbolizer/store/sqlite/sqlite_store.h"
#include "symbolizer/store/data_folder/trusted_clock.h"
#include "symbolizer/store/sqlite/write.h"

struct sqlite_store {
	struct store store;
	char *folder;
	int folder_fd; /* holds the lock */
	struct store_identity identity;
	struct store_state *state;
	struct reader_pool *readers;
	struct node_cache *nodes;
	pthread_mutex_t write_lock; /* of @writer, for a group of batches or retention */
	struct sqlite_writer *writer;
	struct write_queue *queue;
	int commit_lock;                     /* commit_lock.h, taken under @write_lock */
	struct ballast ballast;              /* under @write_lock */
	_Atomic uint64_t max_bytes;          /* of the files; 0: no limit */
	bool is_too_large;                   /* logged: only the newest day is left */
	_Atomic day_number first_day_by_age; /* retention removed the days before it */
	_Atomic uint64_t n_removed_by_age, n_removed_by_size; /* days */
};

static inline struct sqlite_store *sqlite_store_of(struct store *store)
{
	return container_of(store, struct sqlite_store, store);
}

/* The operation open_view (sqlite_view.c). */
int sqlite_view_open(struct store *store, const struct store_view_options *options,
		     struct store_view **ret_view);

/*
 * Loads the time that retention trusts, and the end of the days that it removed. Call it when the
 * days are known.
 */
void retention_begin(struct sqlite_store *self);

/* The operation retain (retention.c). */
int sqlite_store_retain(struct store *store, size_t *ret_removed);

/* Before and after changes of several files. */
void sqlite_store_lock_writes(struct sqlite_store *self);
void sqlite_store_unlock_writes(struct sqlite_store *self);

/* See store_removed_until(). */
int retention_removed_until(struct sqlite_store *self, uint64_t *ret_slot,
			    enum store_removal *ret_reason);
