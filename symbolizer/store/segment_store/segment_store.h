/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The embedded storage engine that keeps samples as segments: segment_db stores batches, and
 * segment_view answers queries. A thread flushes rows in memory to segments, merges segments, and
 * makes the roll-ups of hours.
 *
 * @folder has inbox.db and segments-YYYY-MM-DD.db (segment_db.h).
 */

#include "common/clock.h"
#include "symbolizer/store/segment_db/segment_db.h"
#include "symbolizer/store/store.h"

struct segment_store_options {
	const char *folder;
	const struct clock *clock;
	struct segment_db_decoder decoder; /* its functions are thread-safe */
	size_t max_head_bytes;             /* 0: SEGMENT_STORE_HEAD_BYTES */
	/* As store_set_retention() etc., before the files are opened. */
	uint64_t retention_ns, hourly_retention_ns, max_bytes;
};

/* Rows in memory: those of a million samples with their definitions take some 60 MiB. */
#define SEGMENT_STORE_HEAD_BYTES (256 * MIB)

/* Locks the folder. -EBUSY: another server has it open; others: segment_db_open(). */
int segment_store_open(const struct segment_store_options *options, struct store **ret_store);

/* Writes all rows in memory as segments, and merges segments. For tests and tools. */
int segment_store_settle(struct store *store);
