/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The batches that were accepted since the last flush, with their counters, in memory.
 *
 * A flush takes the whole log, and writes it to the day files (log_file.h). Two logs exist
 * meanwhile; readers use both until the commit.
 *
 * Changed under inbox_lock. A log only grows, and what it has does not move: a reader gets a
 * reference and the extent of each run under the lock, and reads without it.
 */

#include "symbolizer/store/batch.h"
#include "symbolizer/store/segment_db/batch_block.h"

struct batch_log;

/*
 * Longest time that a batch covers for readers, who look for the batches of a day in the files of
 * so many later days. Ingest refuses batches that cover more than seven days.
 */
#define BATCH_MAX_DAYS 7

int batch_log_new(struct batch_log **ret_log);

/* A new log has one reference. Both need inbox_lock, or a log that no other thread knows. */
struct batch_log *batch_log_ref(struct batch_log *log);
/* Returns NULL. */
struct batch_log *batch_log_unref(struct batch_log *log);

int batch_log_add(struct batch_log *log, const char *tenant, const struct batch *batch,
		  uint64_t arrived_wall_ns);

/* Memory; 0: no batches. */
size_t batch_log_bytes(const struct batch_log *log);

/* Names of counters of one tenant: names[i], from 1 on, is the name with number i in the log. */
struct log_names {
	const char *const *names;
	uint32_t count; /* with names[0], which is COUNTER_LEFT_OUT */
};

/* One run of an agent. */
struct log_run {
	struct hash128 agent;
	uint64_t epoch;
	const struct log_chunk *first, *last; /* last: NULL if first is */
	size_t n_in_last;
};

/*
 * A tenant. @runs changes with the log: a reader copies the runs that it needs, under the lock. The
 * rest may be used without it.
 */
struct log_tenant {
	const char *name;
	struct log_names names; /* copy under the lock */
	const struct log_run *const *runs;
	size_t n_runs;
};

/* NULL: the log has no batch of the tenant. */
const struct log_tenant *batch_log_tenant(const struct batch_log *log, const char *tenant);

/* Visits all tenants. *cursor is 0 at first. NULL after the last. */
const struct log_tenant *batch_log_next(const struct batch_log *log, size_t *cursor);

/* A batch in the log. Its counters are varints: number of the name and value for each. */
struct logged_batch {
	uint64_t sequence;
	uint64_t opened_ms, closed_ms;
	int64_t delay_ms;
	struct bytes_view counters;
};

/* Visits the batches of a run in the order in which they arrived. */
struct log_cursor {
	const struct log_chunk *chunk;
	size_t index;
};

/* NULL after the last one. The cursor is zeroed at first. */
const struct logged_batch *log_run_next(const struct log_run *run, struct log_cursor *cursor);

/* Takes a counter of a batch. 1, or 0: the end. */
int logged_counter_next(struct bytes_reader *in, uint32_t *ret_name, uint64_t *ret_value);
