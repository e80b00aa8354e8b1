/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The SQLite engine's store, for the files that implement its operations.
 */

#include <pthread.h>

#include "symbolizer/store/sqlite/node_cache.h"
#include "symbolizer/store/sqlite/sqlite_store.h"
#include "symbolizer/store/sqlite/trusted_clock.h"
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
};

static inline struct sqlite_store *sqlite_store_of(struct store *store)
{
	return container_of(store, struct sqlite_store, store);
}

/* The operation open_view (sqlite_view.c). */
int sqlite_view_open(struct store *store, const struct store_view_options *options,
		     struct store_view **ret_view);

/* Loads the time that retention trusts. Call it when the days are known. */
void retention_begin(struct sqlite_store *self);
