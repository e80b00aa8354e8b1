/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The capacity doubles, but never exceeds the ceiling. The first error stays in the buffer until
 * bytes_clear() or bytes_release().
 */

#include "common/bytes.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#define BYTES_FIRST_CAPACITY ((size_t)64)

#define VARINT_MAX_BYTES 10

static int bytes_fail(struct bytes *bytes, int error)
{
	bytes->error = error;
	return error;
}

static uint64_t counted(size_t capacity)
{
	return capacity > BYTES_OUTSIDE_BUDGET ? capacity : 0;
}

void bytes_release(struct bytes *bytes)
{
	free(bytes->data);
	memory_budget_give(bytes->budget, counted(bytes->capacity));
	bytes->data = NULL;
	bytes->size = 0;
	bytes->capacity = 0;
	bytes->error = 0;
}

void bytes_clear(struct bytes *bytes)
{
	bytes->size = 0;
	bytes->error = 0;
}

int bytes_reserve(struct bytes *bytes, size_t extra)
{
	size_t wanted, capacity;
	uint8_t *moved;

	if (bytes->error)
		return bytes->error;
	if (bytes->size > bytes->ceiling || extra > bytes->ceiling - bytes->size)
		return bytes_fail(bytes, -EFBIG);
	if (bytes->capacity - bytes->size >= extra)
		return 0;

	wanted = bytes->size + extra;
	capacity = MAX(bytes->capacity, BYTES_FIRST_CAPACITY);
	while (capacity < wanted)
		capacity = capacity > SIZE_MAX / 2 ? SIZE_MAX : capacity * 2;
	capacity = MIN(capacity, bytes->ceiling);

	if (!memory_budget_take(bytes->budget, counted(capacity) - counted(bytes->capacity)))
		return bytes_fail(bytes, -ENOMEM);
	moved = realloc(bytes->data, capacity);
	if (!moved) {
		memory_budget_give(bytes->budget, counted(capacity) - counted(bytes->capacity));
		return bytes_fail(bytes, -ENOMEM);
	}
	bytes->data = moved;
	bytes->capacity = capacity;
	return 0;
}

int bytes_append(struct bytes *bytes, const void *data, size_t size)
{
	int r;

	r = bytes_reserve(bytes, size);
	if (r < 0)
		return r;
	if (size == 0)
		return 0;

	memcpy(bytes->data + bytes->size, data, size);
	bytes->size += size;
	return 0;
}

int bytes_append_byte(struct bytes *bytes, uint8_t byte)
{
	return bytes_append(bytes, &byte, 1);
}

int bytes_append_text(struct bytes *bytes, const char *text)
{
	return bytes_append(bytes, text, strlen(text));
}

int bytes_append_format(struct bytes *bytes, const char *format, ...)
{
	char text[256];
	va_list args;
	int length;
	int r;

	va_start(args, format);
	length = vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	if (length < 0)
		return bytes_fail(bytes, -EINVAL);
	if ((size_t)length < sizeof(text))
		return bytes_append(bytes, text, (size_t)length);

	/* vsnprintf() also writes a NUL, which may lie one byte beyond the ceiling: raise the
	 * ceiling by one during the call. */
	bytes->ceiling = bytes->ceiling == SIZE_MAX ? SIZE_MAX : bytes->ceiling + 1;
	r = bytes_reserve(bytes, (size_t)length + 1);
	bytes->ceiling = bytes->ceiling == SIZE_MAX ? SIZE_MAX : bytes->ceiling - 1;
	if (r < 0)
		return r;

	va_start(args, format);
	(void)vsnprintf((char *)bytes->data + bytes->size, (size_t)length + 1, format, args);
	va_end(args);
	bytes->size += (size_t)length;
	return 0;
}

int bytes_append_varint(struct bytes *bytes, uint64_t value)
{
	uint8_t encoded[VARINT_MAX_BYTES];
	size_t size = 0;

	while (value >= 0x80) {
		encoded[size++] = (uint8_t)(value | 0x80);
		value >>= 7;
	}
	encoded[size++] = (uint8_t)value;
	return bytes_append(bytes, encoded, size);
}

uint64_t bytes_read_varint(struct bytes_reader *reader)
{
	uint64_t value = 0;

	if (reader->error)
		return 0;
	for (unsigned int i = 0; i < VARINT_MAX_BYTES; i++) {
		uint8_t byte;

		if (reader->next == reader->end)
			break;
		byte = *reader->next++;
		/* The tenth byte holds bit 63 only. */
		if (i == VARINT_MAX_BYTES - 1 && byte > 1)
			break;
		value |= (uint64_t)(byte & 0x7f) << (7 * i);
		if (byte < 0x80)
			return value;
	}
	reader->error = -EBADMSG;
	return 0;
}
