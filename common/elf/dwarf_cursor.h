/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Reads the integers and strings of DWARF sections, .eh_frame and similar tables from a
 * bytes_reader. The functions are inline, because making one table reads tens of millions of
 * values.
 *
 * A read past the end returns 0 (or NULL, or an empty view), moves the cursor to the end and sets
 * cursor->error to -EBADMSG. So callers may read a group of fields and check the error once after
 * it. Little-endian only. A LEB128 number may be padded without limit; bits beyond the 64th are
 * dropped (DWARF 5 §7.6).
 */

#include <string.h>

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

/* A cursor from @offset to the end of @bytes. Its error is set if @offset is beyond the end. */
static inline struct bytes_reader cursor_at(struct bytes_view bytes, uint64_t offset)
{
	struct bytes_reader cursor = {};

	if (offset > bytes.size) {
		cursor.error = -EBADMSG;
	} else if (bytes.size > 0) {
		cursor.next = bytes.data + offset;
		cursor.end = bytes.data + bytes.size;
	}
	return cursor;
}

static inline void cursor_skip(struct bytes_reader *cursor, uint64_t bytes)
{
	if (bytes > cursor_left(cursor))
		(void)cursor_fail(cursor);
	else
		cursor->next += bytes;
}

static inline uint8_t cursor_u8(struct bytes_reader *cursor)
{
	if (cursor->next == cursor->end)
		return (uint8_t)cursor_fail(cursor);
	return *cursor->next++;
}

/* An integer of @size bytes, at most 8. */
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

	while (cursor->next < cursor->end) {
		const uint8_t byte = *cursor->next++;

		if (shift < 64) {
			value |= (uint64_t)(byte & 0x7f) << shift;
			shift += 7;
		}
		if (byte < 0x80)
			return value;
	}
	return cursor_fail(cursor);
}

static inline int64_t cursor_sleb(struct bytes_reader *cursor)
{
	unsigned int shift = 0;
	uint64_t value = 0;

	while (cursor->next < cursor->end) {
		const uint8_t byte = *cursor->next++;

		if (shift < 64) {
			value |= (uint64_t)(byte & 0x7f) << shift;
			shift += 7;
		}
		if (byte < 0x80) {
			if (shift < 64 && (byte & 0x40))
				value |= UINT64_MAX << shift;
			return (int64_t)value;
		}
	}
	return (int64_t)cursor_fail(cursor);
}

static inline void cursor_skip_leb(struct bytes_reader *cursor)
{
	while (cursor->next < cursor->end) {
		if (*cursor->next++ < 0x80)
			return;
	}
	(void)cursor_fail(cursor);
}

/* The next @size bytes. */
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

/* Reads a NUL-terminated string and its NUL. NULL: there is no NUL before the end. */
static inline const char *cursor_text(struct bytes_reader *cursor)
{
	const char *text = (const char *)cursor->next;
	const size_t left = cursor_left(cursor);
	const uint8_t *end = NULL;

	if (left > 0)
		end = (const uint8_t *)memchr(cursor->next, '\0', left);
	if (!end) {
		(void)cursor_fail(cursor);
		return NULL;
	}
	cursor->next = end + 1;
	return text;
}

/* The string at @offset of a string section, or NULL. */
static inline const char *text_at_offset(struct bytes_view texts, uint64_t offset)
{
	struct bytes_reader cursor = cursor_at(texts, offset);

	return cursor.error < 0 ? NULL : cursor_text(&cursor);
}

/*
 * Reads the length at the start of a DWARF unit: 4 bytes, or 12 bytes in 64-bit DWARF.
 * *ret_offset_size is the size of the unit's offsets, 4 or 8. Fails if the length exceeds the
 * remaining bytes.
 */
static inline uint64_t cursor_unit_length(struct bytes_reader *cursor, uint8_t *ret_offset_size)
{
	uint64_t length = cursor_u32(cursor);

	*ret_offset_size = 4;
	if (length == UINT32_MAX) {
		*ret_offset_size = 8;
		length = cursor_u64(cursor);
	}
	if (length > cursor_left(cursor))
		(void)cursor_fail(cursor);
	return length;
}
