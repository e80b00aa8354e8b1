/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Reading the numbers of DWARF from a bytes_reader, inline because a table is made of tens of
 * millions of them.
 *
 * As with every bytes_reader: a read past the end gives 0 and sets the error, which is looked at
 * once, later. A LEB128 number may be padded without limit; bits beyond the 64th are dropped
 * (DWARF 5 §7.6).
 */

#include "common/bytes.h"

static inline size_t cursor_left(const struct bytes_reader *cursor)
{
	return (size_t)(cursor->end - cursor->next);
}

static inline uint64_t cursor_fail(struct bytes_reader *cursor)
{
	cursor->error = -EBADMSG;
	cursor->next = cursor->end;
	return 0;
}

static inline uint8_t cursor_u8(struct bytes_reader *cursor)
{
	if (cursor->next == cursor->end)
		return (uint8_t)cursor_fail(cursor);
	return *cursor->next++;
}

/* 2, 4 or 8 little-endian bytes. */
static inline uint64_t cursor_fixed(struct bytes_reader *cursor, size_t size)
{
	uint64_t value = 0;

	if (cursor_left(cursor) < size)
		return cursor_fail(cursor);
	memcpy(&value, cursor->next, size);
	cursor->next += size;
	return value;
}

static inline uint16_t cursor_u16(struct bytes_reader *cursor)
{
	return (uint16_t)cursor_fixed(cursor, 2);
}

static inline uint32_t cursor_u32(struct bytes_reader *cursor)
{
	return (uint32_t)cursor_fixed(cursor, 4);
}

static inline uint64_t cursor_u64(struct bytes_reader *cursor)
{
	return cursor_fixed(cursor, 8);
}

static inline uint64_t cursor_uleb(struct bytes_reader *cursor)
{
	unsigned int shift = 0;
	uint64_t value = 0;
	uint8_t byte;

	do {
		byte = cursor_u8(cursor);
		if (shift < 64)
			value |= (uint64_t)(byte & 0x7f) << shift;
		shift = MIN(shift + 7, 64u);
	} while (byte & 0x80);
	return value;
}

static inline int64_t cursor_sleb(struct bytes_reader *cursor)
{
	unsigned int shift = 0;
	uint64_t value = 0;
	uint8_t byte;

	do {
		byte = cursor_u8(cursor);
		if (shift < 64)
			value |= (uint64_t)(byte & 0x7f) << shift;
		shift = MIN(shift + 7, 64u);
	} while (byte & 0x80);
	if (shift < 64 && (byte & 0x40))
		value |= ~UINT64_C(0) << shift;
	return (int64_t)value;
}

/* The next @size bytes, as a view of their own. */
static inline struct bytes_view cursor_take(struct bytes_reader *cursor, uint64_t size)
{
	struct bytes_view view = { .data = cursor->next };

	if (size > cursor_left(cursor)) {
		(void)cursor_fail(cursor);
		return (struct bytes_view){};
	}
	view.size = (size_t)size;
	cursor->next += size;
	return view;
}
