/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Encodes and decodes the counters of batches. The functions depend on their arguments only.
 *
 * A row of the table counter_minute belongs to one sender and one minute. It has an entry for each
 * batch that the sender closed in this minute. An entry is a list of varints:
 *
 *   number of bytes of the entry that follow
 *   sequence number of the batch
 *   when the batch was closed: ms since the beginning of the minute
 *   duration of the batch in ms
 *   ms from the closing of the batch to its arrival at the server; zigzag, because clocks differ
 *   for each counter: ID of its name (table counter_name), value
 *
 * The ID of a row orders the rows of a sender by time. A minute has several rows (parts) if its
 * entries do not fit into one page.
 */

#include "common/bytes.h"
#include "symbolizer/store/store.h"

#define COUNTER_MINUTE_NS (60 * NSEC_PER_SEC)

/* Maximum number of rows of one sender for one minute. */
#define COUNTER_PARTS_PER_MINUTE (UINT64_C(1) << 13)

/* The value of the pair with this ID is the number of counters of the batch that were left out. */
#define COUNTER_LEFT_OUT 0

struct counter_entry {
	uint64_t sequence;
	uint64_t opened_ns, closed_ns; /* wall, in full milliseconds */
	int64_t delay_ms;              /* from the closing to the arrival */
	struct bytes_view pairs;
};

/* Returns the ID of the first row of @sender for the minute @minute_of_day (0 to 1439). */
static inline int64_t counter_row_id(int64_t sender, uint64_t minute_of_day)
{
	return (sender << 24) | (int64_t)(minute_of_day * COUNTER_PARTS_PER_MINUTE);
}

/* Returns the minute of the day to which a row belongs. */
static inline uint64_t counter_row_minute(int64_t row_id)
{
	return ((uint64_t)row_id & 0xffffff) / COUNTER_PARTS_PER_MINUTE;
}

/*
 * Returns the number of the minute since 1970 to which a batch belongs. A batch that closes exactly
 * between two minutes belongs to the first one. @closed_ns must not be 0.
 */
static inline uint64_t counter_minute(uint64_t closed_ns)
{
	return (closed_ns - 1) / COUNTER_MINUTE_NS;
}

void counter_add_pair(struct bytes *pairs, uint32_t id, uint64_t value);

/* Appends an entry to a row. @minute must be counter_minute(entry->closed_ns). */
void counter_add_entry(struct bytes *out, const struct counter_entry *entry, uint64_t minute);

/* Returns 1 with an entry, 0 at the end, -EBADMSG if the row is damaged. */
int counter_next_entry(struct bytes_reader *in, uint64_t minute, struct counter_entry *ret_entry);

/* Returns 1 with a pair, 0 at the end or at damaged bytes. */
int counter_next_pair(struct bytes_reader *pairs, uint64_t *ret_id, uint64_t *ret_value);
