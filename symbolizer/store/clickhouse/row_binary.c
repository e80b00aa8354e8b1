/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/store/clickhouse/row_binary.h"

static void add_number(struct bytes *row, uint64_t value, size_t size)
{
	uint8_t number[8];

	for (size_t i = 0; i < size; i++)
		number[i] = (uint8_t)(value >> (8 * i));
	(void)bytes_append(row, number, size);
}

void row_add_u8(struct bytes *row, uint8_t value)
{
	(void)bytes_append_byte(row, value);
}

void row_add_u16(struct bytes *row, uint16_t value)
{
	add_number(row, value, sizeof(value));
}

void row_add_u32(struct bytes *row, uint32_t value)
{
	add_number(row, value, sizeof(value));
}

void row_add_u64(struct bytes *row, uint64_t value)
{
	add_number(row, value, sizeof(value));
}

void row_add_hash(struct bytes *row, const struct hash128 *hash)
{
	(void)bytes_append(row, hash->bytes, sizeof(hash->bytes));
}

void row_add_count(struct bytes *row, size_t count)
{
	(void)bytes_append_varint(row, count);
}

void row_add_string(struct bytes *row, const void *data, size_t size)
{
	row_add_count(row, size);
	if (size > 0)
		(void)bytes_append(row, data, size);
}

void row_add_text(struct bytes *row, const char *text)
{
	row_add_string(row, text, strlen(text));
}

/* The next @size bytes, or NULL. */
static const uint8_t *take(struct bytes_reader *row, size_t size)
{
	const uint8_t *data = row->next;

	if (row->error == 0 && (size_t)(row->end - row->next) < size)
		row->error = -EBADMSG;
	if (row->error < 0)
		return NULL;
	row->next += size;
	return data;
}

static uint64_t read_number(struct bytes_reader *row, size_t size)
{
	const uint8_t *data = take(row, size);
	uint64_t value = 0;

	for (size_t i = 0; data && i < size; i++)
		value |= (uint64_t)data[i] << (8 * i);
	return value;
}

uint8_t row_read_u8(struct bytes_reader *row)
{
	return (uint8_t)read_number(row, sizeof(uint8_t));
}

uint16_t row_read_u16(struct bytes_reader *row)
{
	return (uint16_t)read_number(row, sizeof(uint16_t));
}

uint32_t row_read_u32(struct bytes_reader *row)
{
	return (uint32_t)read_number(row, sizeof(uint32_t));
}

uint64_t row_read_u64(struct bytes_reader *row)
{
	return read_number(row, sizeof(uint64_t));
}

struct hash128 row_read_hash(struct bytes_reader *row)
{
	struct hash128 hash = {};
	const uint8_t *data = take(row, sizeof(hash.bytes));

	if (data)
		memcpy(hash.bytes, data, sizeof(hash.bytes));
	return hash;
}

struct bytes_view row_read_string(struct bytes_reader *row)
{
	uint64_t size = bytes_read_varint(row);
	const uint8_t *data = take(row, size);

	return (struct bytes_view){ .data = data, .size = data ? (size_t)size : 0 };
}

size_t row_read_count(struct bytes_reader *row, size_t min_bytes)
{
	uint64_t count = bytes_read_varint(row);

	if (row->error == 0 && count > (size_t)(row->end - row->next) / min_bytes)
		row->error = -EBADMSG;
	return row->error == 0 ? (size_t)count : 0;
}

static bool is_plain(uint8_t byte)
{
	return (byte >= '0' && byte <= '9') || (byte >= 'a' && byte <= 'z') ||
	       (byte >= 'A' && byte <= 'Z');
}

void sql_add_string(struct bytes *sql, const void *data, size_t size)
{
	const uint8_t *next = data;

	(void)bytes_append_byte(sql, '\'');
	for (size_t i = 0; i < size; i++) {
		if (is_plain(next[i]))
			(void)bytes_append_byte(sql, next[i]);
		else
			(void)bytes_append_format(sql, "\\x%02X", next[i]);
	}
	(void)bytes_append_byte(sql, '\'');
}
