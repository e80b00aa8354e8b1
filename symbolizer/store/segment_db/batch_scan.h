/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Reads the log of accepted batches: which time they cover, and their counters. A batch is found
 * from its acceptance on, and exactly once, also while a flush or a merge runs. Batches without
 * rows count too.
 */

#include "symbolizer/store/segment_db/segment_db.h"

/*
 * Selects the batches that cover a part of [from_slot, to_slot). Counters are as in struct
 * store_counter_query.
 */
struct segment_db_batch_query {
	const char *tenant;
	const struct hash128 *agents; /* [n_agents] distinct; NULL: all */
	size_t n_agents;
	uint64_t from_slot, to_slot;
	const char *const *names; /* [n_names], at most STORE_MAX_COUNTER_NAMES */
	size_t n_names;
	size_t max_batches; /* the newest of each agent */
	const struct cancel *cancel;
};

struct segment_db_batch {
	/* In query->agents; without it, agents are numbered as they are found. */
	size_t agent_index;
	struct hash128 agent;
	/*
	 * Distinguishes the runs of an agent, and the days of a run. Batches of one run and day are
	 * visited consecutively.
	 */
	uint64_t run;
	uint64_t sequence;
	uint64_t opened_wall_ns, closed_wall_ns; /* full milliseconds */
	int64_t delay_ms;                        /* from the closing to the arrival */
	const uint64_t *values;                  /* [query->n_names]; NULL if only times are read */
};

/* @batch is valid during the call. A result < 0 ends the scan with it. */
typedef int (*segment_db_batch_function)(void *arg, const struct segment_db_batch *batch);

/*
 * Visits batches with their counters: the newest day first; in a day agent by agent; the runs of an
 * agent and the batches of a run with the newest first, but batches that arrived late may come
 * before newer ones. Damaged blocks are skipped. The function must not use the segment_db.
 * -ECANCELED, -ENOMEM, other negative errno: a file cannot be read.
 */
int segment_db_scan_counters(struct segment_db *db, const struct segment_db_batch_query *query,
			     segment_db_batch_function function, void *arg);

/*
 * Visits the times of all selected batches, without reading their counters: names, n_names and
 * max_batches are not used. The order of the batches of a run and day is that of their closing, but
 * for those that arrived late.
 */
int segment_db_scan_coverage(struct segment_db *db, const struct segment_db_batch_query *query,
			     segment_db_batch_function function, void *arg);
