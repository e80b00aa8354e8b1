/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What the files of the batch decoder share: the message being decoded, the batch that comes out,
 * and the limits.
 */

#include "proto/batch.pb-c.h"
#include "symbolizer/ingest/batch_decoder.h"

/* A clock or counter beyond this is none: 2116 as wall clock, and sums of two of them do not
 * overflow. */
#define DECODE_MAX_TIME_NS (UINT64_C(1) << 62)

/* What one batch may cover. Agents close them after seconds; one that was stopped wakes up days
 * later. */
#define DECODE_MAX_COVERED_NS (7 * 24 * 3600 * NSEC_PER_SEC)

/* A wait that ended in this batch may have begun an hour before it: longer ones are not delivered.
 */
#define DECODE_MAX_BEFORE_NS (3600 * NSEC_PER_SEC)

/* Two days in nanoseconds or 9 PB in bytes; a thousand such values still add up in 64 bits. */
#define DECODE_MAX_VALUE (UINT64_C(1) << 53)

/* What one count may stand for. */
#define DECODE_MAX_PERIOD_NS (3600 * NSEC_PER_SEC)

#define DECODE_MAX_IPS      256
#define DECODE_MAX_COUNTERS 4096
#define DECODE_MAX_PATHS    65536
#define DECODE_MAX_CPUS     65536

/* Distinct (kind, executable) pairs in the stacks of one batch. */
#define DECODE_MAX_FRAME_KEYS (1u << 18)

/* Stacks are sent without what they share; this bounds what sharing can blow up: half of what a
 * batch may take. */
#define DECODE_MAX_FRAMES (BATCH_MAX_DECODED_BYTES / 2 / sizeof(struct batch_frame))

struct decode {
	const Hearth__V1__Batch *message;
	struct arena *arena;
	struct batch *batch;
	char *reason;         /* DECODE_MESSAGE_SIZE */
	size_t refused_bytes; /* what decode_array() did not get */
};

/* Says what is wrong; returns -EBADMSG. */
int decode_bad(struct decode *decode, const char *format, ...) printf_like(2, 3);

/* Too much of something: -EFBIG. */
int decode_too_much(struct decode *decode, const char *format, ...) printf_like(2, 3);

/* In the arena; NULL when there is no room: return decode_no_room() then. */
void *decode_array(struct decode *decode, size_t count, size_t size) must_check;

/* -EFBIG when the batch is too large for the arena's ceiling, else -ENOMEM; with the message. */
int decode_no_room(struct decode *decode);

/* String @index of the table for @field of item @item. */
int decode_string(struct decode *decode, uint32_t index, const char *field, size_t item,
		  const char **ret_text);

/* batch_tables.c */
int decode_executables(struct decode *decode);
int decode_processes(struct decode *decode);
int decode_series(struct decode *decode);

/* batch_columns.c */
int decode_stacks(struct decode *decode);
int decode_rows(struct decode *decode);
