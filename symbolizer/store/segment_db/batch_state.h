/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * One state of the log of batches, for batch_scan.c: the extent of the logs in memory, and a read
 * transaction on each day file. A batch is in exactly one of the two.
 *
 * The state is fixed as for rows (reader.c): under inbox_lock the number of the last flush and the
 * logs, then the files are opened. If a flush was committed meanwhile, all begins again.
 *
 * A batch is in the file of the day on which it was closed. So the batches that overlap a range are
 * in the files of its days and, as they are open for BATCH_MAX_DAYS at most, of some later days.
 */

#include "common/hash_table.h"
#include "symbolizer/store/segment_db/batch_scan.h"
#include "symbolizer/store/segment_db/log_file.h"

#define BATCH_DAY_MS (24 * BATCH_HOUR_MS)

/* Entry of a map for names that the query does not ask for. */
#define NAME_NOT_ASKED UINT8_MAX
static_assert(STORE_MAX_COUNTER_NAMES < NAME_NOT_ASKED, "an index fits into a byte");

struct scanned_agent {
	struct hash128 id;
	size_t n_left; /* batches that may still be visited; 0: no further block */
};

/* A batch in memory. */
struct scanned_batch {
	size_t agent; /* index in state->agents */
	uint64_t epoch;
	const uint8_t *index_of; /* index in query->names, by the number of a name in its log */
	const struct logged_batch *batch;
};

struct scanned_file {
	segment_day day;
	struct sqlite_db *file; /* in a read transaction */
};

struct batch_state {
	struct segment_db *db;
	const struct segment_db_batch_query *query;
	uint64_t from_ms, to_ms;        /* batches with closed_ms > from_ms and opened_ms < to_ms */
	struct hash_table *agent_index; /* struct hash128 -> size_t */
	VEC_DEFINE(, struct scanned_agent) agents;

	segment_day oldest_day;    /* earlier days were removed */
	uint64_t last_flush;       /* blocks of later flushes do not count */
	struct batch_log *logs[2]; /* references */
	struct arena *arena;       /* of copied runs and maps of names */
	/* In memory, by day of closing, agent, epoch and time. */
	VEC_DEFINE(, struct scanned_batch) batches;
	VEC_DEFINE(, struct scanned_file) files; /* ascending by day */
};

/* The state is zeroed before. The caller releases it also after an error. */
int batch_state_read(struct segment_db *db, const struct segment_db_batch_query *query,
		     struct batch_state *state);
void batch_state_release(struct batch_state *state);

/* Finds the agent, or adds it if the query selects all. 1 selected, 0 not. */
int batch_state_find_agent(struct batch_state *state, const struct hash128 *agent,
			   size_t *ret_index);

/* Index in query->names, or NAME_NOT_ASKED. */
uint8_t batch_state_index_of(const struct segment_db_batch_query *query, const char *name);

static inline bool batch_state_overlaps(const struct batch_state *state, uint64_t opened_ms,
					uint64_t closed_ms)
{
	return closed_ms > state->from_ms && opened_ms < state->to_ms;
}

static inline segment_day batch_day(uint64_t closed_ms)
{
	return (segment_day)((closed_ms - 1) / BATCH_DAY_MS);
}
