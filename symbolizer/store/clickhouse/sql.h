/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Conditions of SQL that several queries have, and arrays of texts in their answers. */

#include "common/arena.h"
#include "symbolizer/store/batch.h"
#include "symbolizer/store/clickhouse/row_binary.h"

/* Slots of one hour and one day. */
#define SLOTS_PER_HOUR (3600 * NSEC_PER_SEC / SLOT_NS)
#define SLOTS_PER_DAY  (24 * SLOTS_PER_HOUR)

/* Column hour is a UInt32, and day a UInt16. */
#define END_SLOT (SLOTS_PER_DAY * UINT16_MAX)

/* Of a query. */
#define MAX_SQL_BYTES (16 * KIB)

/* [from, last]; at most up to END_SLOT. */
struct slot_range {
	uint64_t from, last;
};

/* @to_slot 0: no limit. False: no sample can be in the range. */
bool slot_range_make(uint64_t from_slot, uint64_t to_slot, struct slot_range *ret_range);

/* "day >= 1 AND day <= 2": the days of the range. */
void sql_add_days(struct bytes *sql, const struct slot_range *range);

/* " AND column = 'text'", unless @text is NULL. */
void sql_add_equal(struct bytes *sql, const char *column, const char *text);

/* Ends the text. 0 or the error of an append. */
int sql_end(struct bytes *sql);

/* An Array(String) in a row. */
struct row_texts {
	size_t count;
	struct bytes_reader items;
};

struct row_texts row_read_texts(struct bytes_reader *row);

/* A copy of the next text. NULL: no memory. */
const char *row_texts_next(struct row_texts *texts, struct arena *arena);

/* NULL: no memory. */
const char *row_copy_text(struct bytes_view text, struct arena *arena);

/* 0 or -ENOMEM. */
int row_copy_labels(struct row_texts names, struct row_texts values, struct arena *arena,
		    struct label **ret_labels, uint32_t *ret_count);
