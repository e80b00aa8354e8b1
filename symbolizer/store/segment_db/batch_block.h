/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A block: the times and the counters of some batches of one run of an agent, which were closed in
 * one hour. Encoders and decoders are functions of bytes only.
 *
 * It has two blobs, so that a query for the covered time does not read counters. The first byte of
 * a blob is its coding: 0 as it is, 1 one zstd frame. All numbers are varints.
 *
 *   times     for each batch, in order of closing: zigzag difference to the sequence before, plus
 *             one; then for each batch: milliseconds from the closing before (first: from the begin
 *             of the hour) to its closing; then: zigzag milliseconds from the closing before to its
 *             opening; then: zigzag difference to the delay before
 *   counters  for each name, ascending: its number, the size of its values, and its value in each
 *             batch. The values of one name are similar, which zstd makes use of, and a query
 *             skips names that it does not ask for.
 */

#include "common/bytes.h"
#include "common/vec.h"

#define BATCH_HOUR_MS (UINT64_C(3600) * 1000)

/*
 * Names of counters that one tenant may have in a day. An agent has about 150, and a fleet runs a
 * few versions of it. Counters with further names are left out. Numbers of names are less.
 */
#define COUNTER_NAMES_MAX 1024

/* The value with this number is the number of counters that were left out. */
#define COUNTER_LEFT_OUT 0

/* Longest name with its labels. The longest one of an agent has 60 bytes. */
#define COUNTER_NAME_MAX_BYTES 255

/* Most batches of a block: their counters have at most 40 MiB. An agent has 720 in an hour. */
#define BATCH_BLOCK_MAX 4096

/* Times are full milliseconds. */
struct batch_times {
	uint64_t sequence;
	uint64_t opened_ms, closed_ms; /* wall; 0 < closed, opened <= closed */
	int64_t delay_ms;              /* from the closing to the arrival */
	size_t index;                  /* of its values, see below */
};

/* The hour (since 1970) to which a batch belongs: that in which it was closed. */
static inline uint64_t batch_hour(uint64_t closed_ms)
{
	return (closed_ms - 1) / BATCH_HOUR_MS;
}

/* A counter of a batch that is not 0. A batch may have several with one name: they are added. */
struct batch_value {
	uint32_t batch; /* batch_times.index */
	uint32_t name;
	uint64_t value;
};

VEC_DEFINE(batch_times_list, struct batch_times);
VEC_DEFINE(batch_values, struct batch_value);

/* Any number of batches with their counters, in memory. */
struct batch_block {
	struct batch_times_list times;
	struct batch_values values;
};

void batch_block_release(struct batch_block *block);
void batch_block_clear(struct batch_block *block);

/* Sorts the batches by their closing. */
void batch_block_sort(struct batch_block *block);

/* A part of a sorted block: the batches [first, end), which are of one hour. */
struct batch_range {
	size_t first, end;
};

/* The range that begins at @first: batches of one hour, at most BATCH_BLOCK_MAX. */
struct batch_range batch_block_range(const struct batch_block *block, size_t first);

/*
 * Appends the two blobs of a range of a sorted block. @compress: with zstd, if the result is
 * shorter. 0, -ENOMEM, -EFBIG.
 */
int batch_times_encode(const struct batch_block *block, struct batch_range range, bool compress,
		       struct bytes *out);
int batch_counters_encode(const struct batch_block *block, struct batch_range range, bool compress,
			  struct bytes *out);

/* What the row of a block has beside its blobs. */
struct batch_head {
	uint64_t hour;
	size_t count; /* of batches */
};

/* Appends the batches of a blob; their indexes continue those of @times. 0, -EBADMSG, -ENOMEM. */
int batch_times_decode(struct bytes_view blob, const struct batch_head *head,
		       struct batch_times_list *times);

/* Uncompresses a blob into @plain, which is cleared before. 0, -EBADMSG, -ENOMEM. */
int batch_counters_open(struct bytes_view blob, struct bytes *plain);

/*
 * Takes the next name of uncompressed counters. @ret_values has the varints of the batches, which
 * the caller reads and checks. 1, 0: the end, -EBADMSG.
 */
int batch_counters_next(struct bytes_reader *in, uint32_t *ret_name,
			struct bytes_reader *ret_values);

/* Appends the counters of a blob, of batches with indexes from @first_index on. 0 or as above. */
int batch_counters_decode(struct bytes_view blob, size_t count, size_t first_index,
			  struct batch_values *values);
