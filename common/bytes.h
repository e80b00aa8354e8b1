/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A growable byte buffer with a ceiling, and borrowed byte ranges.
 *
 * A buffer that reaches its ceiling or runs out of memory keeps the error, and further appends do
 * nothing. So a writer checks bytes_error() once at the end instead of after every append.
 */

#include <string.h>

#include "common/base.h"
#include "common/memory_budget.h"

struct bytes_view {
	const uint8_t *data;
	size_t size;
};

struct bytes {
	uint8_t *data;
	size_t size;
	size_t capacity;
	size_t ceiling; /* appends beyond it fail with -EFBIG */
	int error;      /* 0, or the first negative errno */
	/*
	 * A capacity above BYTES_OUTSIDE_BUDGET is taken from this budget; if it refuses, the
	 * append fails with -ENOMEM. NULL: no limit. Set before the first append.
	 */
	struct memory_budget *budget;
};

/* Error messages can be written while nothing is left of the budget. */
#define BYTES_OUTSIDE_BUDGET ((size_t)(64 * KIB))

#define BYTES_INIT(ceiling_bytes) ((struct bytes){ .ceiling = (ceiling_bytes) })

void bytes_release(struct bytes *bytes);

/* Empties the buffer and clears its error, but keeps the memory. */
void bytes_clear(struct bytes *bytes);

/* Allocates memory for @extra more bytes. 0, -ENOMEM, -EFBIG. */
int bytes_reserve(struct bytes *bytes, size_t extra);

int bytes_append(struct bytes *bytes, const void *data, size_t size);
int bytes_append_byte(struct bytes *bytes, uint8_t byte);
int bytes_append_text(struct bytes *bytes, const char *text);
int bytes_append_format(struct bytes *bytes, const char *format, ...) printf_like(2, 3);

/* Unsigned LEB128, at most 10 bytes. */
int bytes_append_varint(struct bytes *bytes, uint64_t value);

static inline int bytes_error(const struct bytes *bytes)
{
	return bytes->error;
}

static inline struct bytes_view bytes_view_of(const struct bytes *bytes)
{
	return (struct bytes_view){ .data = bytes->data, .size = bytes->size };
}

/*
 * A cursor over borrowed bytes. Reads past the end, and varints longer than 10 bytes, set @error to
 * -EBADMSG and return 0; check it once at the end.
 */
struct bytes_reader {
	const uint8_t *next;
	const uint8_t *end;
	int error;
};

static inline struct bytes_reader bytes_reader_of(struct bytes_view view)
{
	return (struct bytes_reader){ .next = view.data,
				      .end = view.size ? view.data + view.size : view.data };
}

uint64_t bytes_read_varint(struct bytes_reader *reader);

static inline uint64_t zigzag_encode(int64_t value)
{
	return ((uint64_t)value << 1) ^ (uint64_t)(value >> 63);
}

static inline int64_t zigzag_decode(uint64_t value)
{
	return (int64_t)(value >> 1) ^ -(int64_t)(value & 1);
}
