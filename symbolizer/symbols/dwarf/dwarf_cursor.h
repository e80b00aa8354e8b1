/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Reads the integers of DWARF from borrowed bytes. A read beyond the end gives 0, moves to the end
 * and is remembered: check once behind a group of reads.
 */

#include <string.h>

#include "common/bytes.h"

struct dwarf_cursor {
	const uint8_t *next;
	const uint8_t *end;
	bool failed;
};

static inline struct dwarf_cursor dwarf_cursor_at(struct bytes_view bytes, uint64_t offset)
{
	struct dwarf_cursor cursor = { .failed = offset > bytes.size };

	if (!cursor.failed && bytes.size > 0) {
		cursor.next = bytes.data + offset;
		cursor.end = bytes.data + bytes.size;
	}
	return cursor;
}

static inline size_t dwarf_left(const struct dwarf_cursor *cursor)
{
	return (size_t)(cursor->end - cursor->next);
}

static inline void dwarf_fail(struct dwarf_cursor *cursor)
{
	cursor->failed = true;
	cursor->next = cursor->end;
}

static inline void dwarf_skip(struct dwarf_cursor *cursor, uint64_t bytes)
{
	if (bytes > dwarf_left(cursor))
		dwarf_fail(cursor);
	else
		cursor->next += bytes;
}

/* @size <= 8. */
static inline uint64_t dwarf_fixed(struct dwarf_cursor *cursor, size_t size)
{
	uint64_t value = 0;

	if (dwarf_left(cursor) < size) {
		dwarf_fail(cursor);
		return 0;
	}
	memcpy(&value, cursor->next, size);
	cursor->next += size;
	return value;
}

static inline uint8_t dwarf_u8(struct dwarf_cursor *cursor)
{
	if (cursor->next == cursor->end) {
		dwarf_fail(cursor);
		return 0;
	}
	return *cursor->next++;
}

static inline uint16_t dwarf_u16(struct dwarf_cursor *cursor)
{
	return (uint16_t)dwarf_fixed(cursor, 2);
}

static inline uint32_t dwarf_u32(struct dwarf_cursor *cursor)
{
	return (uint32_t)dwarf_fixed(cursor, 4);
}

static inline uint64_t dwarf_u64(struct dwarf_cursor *cursor)
{
	return dwarf_fixed(cursor, 8);
}

static inline uint64_t dwarf_uleb(struct dwarf_cursor *cursor)
{
	uint64_t value = 0;
	unsigned int shift = 0;

	while (cursor->next < cursor->end) {
		uint8_t byte = *cursor->next++;

		if (shift < 64)
			value |= (uint64_t)(byte & 0x7f) << shift;
		if (byte < 0x80)
			return value;
		shift += 7;
	}
	dwarf_fail(cursor);
	return 0;
}

static inline int64_t dwarf_sleb(struct dwarf_cursor *cursor)
{
	uint64_t value = 0;
	unsigned int shift = 0;

	while (cursor->next < cursor->end) {
		uint8_t byte = *cursor->next++;

		if (shift < 64)
			value |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
		if (byte < 0x80) {
			if (shift < 64 && (byte & 0x40))
				value |= UINT64_MAX << shift;
			return (int64_t)value;
		}
	}
	dwarf_fail(cursor);
	return 0;
}

static inline void dwarf_skip_leb(struct dwarf_cursor *cursor)
{
	while (cursor->next < cursor->end) {
		if (*cursor->next++ < 0x80)
			return;
	}
	dwarf_fail(cursor);
}

/* The text that begins here, or NULL; moves behind its NUL. */
static inline const char *dwarf_text(struct dwarf_cursor *cursor)
{
	const char *text = (const char *)cursor->next;
	const uint8_t *end = dwarf_left(cursor) > 0 ? (const uint8_t *)memchr(cursor->next, '\0',
									      dwarf_left(cursor))
						    : NULL;

	if (!end) {
		dwarf_fail(cursor);
		return NULL;
	}
	cursor->next = end + 1;
	return text;
}

/* The text at @offset of a section of texts, or NULL. */
static inline const char *dwarf_text_at(struct bytes_view texts, uint64_t offset)
{
	struct dwarf_cursor cursor = dwarf_cursor_at(texts, offset);

	return cursor.failed ? NULL : dwarf_text(&cursor);
}

/* A unit_length: 4 or 12 bytes; *ret_offset_size is 4 or 8. */
static inline uint64_t dwarf_length(struct dwarf_cursor *cursor, uint8_t *ret_offset_size)
{
	uint64_t length = dwarf_u32(cursor);

	*ret_offset_size = 4;
	if (length == UINT32_MAX) {
		*ret_offset_size = 8;
		length = dwarf_u64(cursor);
	}
	if (length > dwarf_left(cursor))
		dwarf_fail(cursor);
	return length;
}
