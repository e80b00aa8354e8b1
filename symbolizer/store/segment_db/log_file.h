/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The log of batches in a day file: the blocks (batch_block.h) of the batches that were closed on
 * that day.
 *
 *   run           a run of an agent
 *   batch_block   its batches of one hour: of one flush, or (is_merged) of several
 *   counter_name  the numbers of the names of counters, of each tenant
 *
 * A flush adds one block for each run and hour in its transaction, with its number. So
 * day_file_delete_later() deletes blocks like segments. Runs and names of a flush that failed stay:
 * the flush is repeated with the same ones. Once an hour is closed, its blocks become one.
 */

#include "symbolizer/store/segment_db/batch_log.h"
#include "symbolizer/store/segment_db/day_file.h"

/* Appends the days on which batches of the log were closed, ascending. */
int log_days(const struct batch_log *log, struct segment_days *days);

/* Adds the batches of the day of @file. Needs an open transaction. */
int log_file_add(struct sqlite_db *file, const struct batch_log *log, segment_day day,
		 uint64_t flush);

/* A merge of all blocks of closed hours, in steps. Zeroed but for the first two fields. */
struct log_merge {
	uint64_t closed_ms;  /* hours that end before or at it are closed */
	uint64_t last_flush; /* blocks of later flushes stay */
	/* the last block that was considered */
	int64_t run;
	uint64_t block_closed_ms;
	size_t n_merged; /* rows that became others */
};

/* Whether the file has blocks to merge: 1 or 0. Needs no transaction. */
int log_file_needs_merge(struct sqlite_db *file, const struct log_merge *merge);

/* Merges some hours. Needs an open transaction. 1: call again; 0: all are done. */
int log_file_merge(struct sqlite_db *file, struct log_merge *merge);

/*
 * Decodes all blocks of flushes up to @last_flush. @ret_damaged is the number of those that cannot
 * be decoded.
 */
int log_file_check(struct sqlite_db *file, uint64_t last_flush, size_t *ret_damaged);

/* Deletes the log and the names of a tenant. Needs an open transaction. */
int log_file_delete_tenant(struct sqlite_db *file, const char *tenant);
