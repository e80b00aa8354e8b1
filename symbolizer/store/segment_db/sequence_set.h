/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A set of sequence numbers as sorted ranges. An agent numbers its batches consecutively, so the
 * set of all its stored batches is one range, with a gap for each batch that the agent dropped.
 */

#include "common/bytes.h"
#include "common/vec.h"

/* Most ranges that sequence_set_has_room() allows: every second batch was dropped for 90 h. */
#define SEQUENCE_SET_MAX_RANGES 32768

struct sequence_range {
	uint64_t first, last;
};

/* Ascending. Between two ranges at least one number is missing. Zeroed: empty. */
VEC_DEFINE(sequence_set, struct sequence_range);

bool sequence_set_has(const struct sequence_set *set, uint64_t sequence);

/* Whether @sequence is in the set, or can be added without exceeding SEQUENCE_SET_MAX_RANGES. */
bool sequence_set_has_room(const struct sequence_set *set, uint64_t sequence);

/* 0 or -ENOMEM. */
int sequence_set_add(struct sequence_set *set, uint64_t sequence);

/* Appends the bytes of the set: for each range the varints gap to the range before, and length. */
int sequence_set_encode(const struct sequence_set *set, struct bytes *out);

/* Replaces the content of @set. 0, -EBADMSG, -ENOMEM. */
int sequence_set_decode(struct bytes_view in, struct sequence_set *set);

static inline void sequence_set_release(struct sequence_set *set)
{
	vec_release(set);
}
