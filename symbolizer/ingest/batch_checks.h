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

/* Formats of batches that this version reads. */
#define BATCH_OLDEST_FORMAT 1
#define BATCH_FORMAT        2

#define DECODE_MAX_IPS      256
#define DECODE_MAX_COUNTERS 4096
#define DECODE_MAX_PATHS    65536
#define DECODE_MAX_CPUS     65536

/* Distinct (kind, object) pairs in the stacks of one batch. */
#define DECODE_MAX_SPACES (1u << 18)

/* Different trace and span IDs of the rows of one batch. */
#define DECODE_MAX_CONTEXTS (1u << 20)

/*
 * Most frames after expansion: half of the memory of a batch. A stack is sent without the frames
 * that it shares with the stack before, so a small message can expand to many frames.
 */
#define DECODE_MAX_FRAMES (BATCH_MAX_DECODED_BYTES / 2 / sizeof(struct batch_frame))

/*
 * Most frames that the stack table lists, which are those before expansion: each may become a new
 * node of the store's tree, which takes microseconds and about 50 bytes for as long as a sample
 * refers to it. A window of an agent has half as many frames.
 */
#define DECODE_MAX_LISTED_FRAMES (1u << 20)

struct decode {
	const Hearth__V1__Batch *message;
	struct arena *arena;
	struct batch *batch;
	struct batch_event_type *event_types; /* [message->n_event_types] */
	char *reason;                         /* [DECODE_MESSAGE_SIZE] */
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

/* Checks the length of a text of the message itself, which is not in its string table. */
int decode_check_text(struct decode *decode, const char *text, const char *field, size_t item);

/*
 * Decodes two columns of string indices, of which at most @max items are allowed. @owner and @item
 * name the message that has them.
 */
struct label_columns {
	const uint32_t *names, *values;
	size_t n_names, n_values;
	size_t max;
	const char *owner;
	size_t item;
};
int decode_labels(struct decode *decode, const struct label_columns *columns,
		  struct label **ret_labels, uint32_t *ret_count);

/* batch_tables.c */
int decode_executables(struct decode *decode);
int decode_processes(struct decode *decode);

/* batch_series.c; the event types first */
int decode_event_types(struct decode *decode);
int decode_series(struct decode *decode);

/* batch_code_objects.c */
int decode_code_objects(struct decode *decode);

/* batch_stacks.c */
int decode_stacks(struct decode *decode);

/* batch_rows.c */
int decode_rows(struct decode *decode);
