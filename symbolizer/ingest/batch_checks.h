/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Shared by the files of the batch decoder: the decoder's state, its limits, and its checks.
 */

#include "proto/batch.pb-c.h"
#include "symbolizer/ingest/batch_decoder.h"

/* Largest time: the year 2116 as wall clock. The sum of two such times does not overflow. */
#define DECODE_MAX_TIME_NS (UINT64_C(1) << 62)

/*
 * Longest time that one batch may cover. Agents close a batch after seconds, but an agent that was
 * stopped (SIGSTOP, suspend) may continue days later.
 */
#define DECODE_MAX_COVERED_NS (7 * 24 * 3600 * NSEC_PER_SEC)

/* A wait that ended in the batch may have begun this long before it. Agents drop longer waits. */
#define DECODE_MAX_BEFORE_NS (3600 * NSEC_PER_SEC)

/* 104 days in nanoseconds, or 9 PB in bytes. The sum of 2048 such values fits in 64 bits. */
#define DECODE_MAX_VALUE (UINT64_C(1) << 53)

/* Longest period of a series: the time or bytes that a count of 1 represents. */
#define DECODE_MAX_PERIOD_NS (3600 * NSEC_PER_SEC)

#define DECODE_MAX_IPS      256
#define DECODE_MAX_COUNTERS 4096
#define DECODE_MAX_PATHS    65536
#define DECODE_MAX_CPUS     65536

/* Distinct (kind, executable) pairs in the stacks of one batch. */
#define DECODE_MAX_FRAME_KEYS (1u << 18)

/*
 * Most frames after expansion: half of the memory of a batch. A stack is sent without the frames
 * that it shares with the stack before, so a small message can expand to many frames.
 */
#define DECODE_MAX_FRAMES (BATCH_MAX_DECODED_BYTES / 2 / sizeof(struct batch_frame))

struct decode {
	const Hearth__V1__Batch *message;
	struct arena *arena;
	struct batch *batch;
	char *reason;         /* [DECODE_MESSAGE_SIZE] */
	size_t refused_bytes; /* size of the allocation that failed in decode_array() */
};

/* Formats the reason; returns -EBADMSG. */
int decode_bad(struct decode *decode, const char *format, ...) printf_like(2, 3);

/* Formats the reason; returns -EFBIG, for a batch that exceeds a limit. */
int decode_too_much(struct decode *decode, const char *format, ...) printf_like(2, 3);

/* Allocates in the arena. NULL: the caller returns decode_no_room(). */
void *decode_array(struct decode *decode, size_t count, size_t size) must_check;

/* Sets the reason. -EFBIG: the batch exceeds the arena's ceiling; -ENOMEM otherwise. */
int decode_no_room(struct decode *decode);

/* Looks up string @index of the batch. @field and @item name the reference in the message. */
int decode_string(struct decode *decode, uint32_t index, const char *field, size_t item,
		  const char **ret_text);

/* batch_tables.c */
int decode_executables(struct decode *decode);
int decode_processes(struct decode *decode);
int decode_series(struct decode *decode);

/* batch_columns.c */
int decode_stacks(struct decode *decode);
int decode_rows(struct decode *decode);
