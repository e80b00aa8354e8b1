/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Visits what is known of a tenant, for lookups that decode no segment: first the segments in
 * memory, then the day files, the newest first. Files may have segments of a flush that is not
 * committed: their batches are in memory too, so that they change no result.
 */

#include "symbolizer/store/segment_db/hints.h"
#include "symbolizer/store/segment_db/segment_db_private.h"

/* A result != 0 ends the walk with it. */
typedef int (*memory_function)(void *arg, const struct head_segment *segment);
typedef int (*day_function)(void *arg, segment_day day, struct sqlite_db *file);

/*
 * Visits the selected segments in the head and in a flush, under inbox_lock: batches wait
 * meanwhile.
 */
int walk_memory(struct segment_db *db, const struct segment_db_names *names,
		memory_function function, void *arg);

/* Visits the days that are kept. Damaged files are skipped. */
int walk_days(struct segment_db *db, day_function function, void *arg);
