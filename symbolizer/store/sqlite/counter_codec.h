/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Encodes the counters of batches. Pure functions of bytes.
 *
 * A row of table counter_minute has the batches of one sender that closed in one minute, each as an
 * entry. All numbers are varints:
 *
 *   size of the rest
 *   sequence, milliseconds from the begin of the minute to the closing of the batch, duration of
 *   the batch in ms, zigzag milliseconds from the closing to the arrival at the server
 *   for each counter: ID of its name (table counter_name), value
 *
 * The ID of a row orders the rows of a sender by time. A minute has several rows (parts) if its
 * entries do not fit into one page.
 */

#include "common/bytes.h"
#include "symbolizer/store/store.h"

#define COUNTER_MINUTE_NS   (60 * NSEC_PER_SEC)
#define COUNTERS_PER_MINUTE (UINT64_C(1) << 13) /* parts */

/* Pairs with this ID count the counters of the batch that were left out. */
#define COUNTER_LEFT_OUT 0

struct counter_entry {
	uint64_t sequence;
	uint64_t opened_ns, closed_ns; /* wall, in full milliseconds */
	int64_t delay_ms;              /* from the closing to the arrival */
	struct bytes_view pairs;
};

/* Returns the ID of the first row of the minute (of the day) in which a batch was closed. */
static inline int64_t counter_row_id(int64_t sender, uint64_t minute_of_day)
{
	return (sender << 24) | (int64_t)(minute_of_day * COUNTERS_PER_MINUTE);
}

static inline uint64_t counter_row_minute(int64_t row_id)
{
	return ((uint64_t)row_id & 0xffffff) / COUNTERS_PER_MINUTE;
}

/* Returns the minute since 1970 to which a batch belongs. @closed_ns is not 0. */
static inline uint64_t counter_minute(uint64_t closed_ns)
{
	return (closed_ns - 1) / COUNTER_MINUTE_NS;
}

void counter_add_pair(struct bytes *pairs, uint32_t id, uint64_t value);

/* @minute is that of counter_minute(). */
void counter_add_entry(struct bytes *out, const struct counter_entry *entry, uint64_t minute);

/* Returns 1 with an entry, 0 at the end, -EBADMSG if the row is damaged. */
int counter_next_entry(struct bytes_reader *in, uint64_t minute, struct counter_entry *ret_entry);

/* Returns 1 with a pair, 0 at the end or at damaged bytes. */
int counter_next_pair(struct bytes_reader *pairs, uint64_t *ret_id, uint64_t *ret_value);
