/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Writes and reads values in ClickHouse's format RowBinary: little-endian numbers, fixed strings as
 * they are, and strings and arrays with a varint that is their length. A writer checks
 * bytes_error() once at the end. A reader checks bytes_reader.error once for each row.
 */

#include "common/bytes.h"
#include "common/hash.h"

void row_add_u8(struct bytes *row, uint8_t value);
void row_add_u16(struct bytes *row, uint16_t value);
void row_add_u32(struct bytes *row, uint32_t value);
void row_add_u64(struct bytes *row, uint64_t value);
void row_add_hash(struct bytes *row, const struct hash128 *hash); /* FixedString(16) */
void row_add_string(struct bytes *row, const void *data, size_t size);
void row_add_text(struct bytes *row, const char *text);

/* The begin of an Array: the caller adds @count elements. */
void row_add_count(struct bytes *row, size_t count);

uint8_t row_read_u8(struct bytes_reader *row);
uint16_t row_read_u16(struct bytes_reader *row);
uint32_t row_read_u32(struct bytes_reader *row);
uint64_t row_read_u64(struct bytes_reader *row);
struct hash128 row_read_hash(struct bytes_reader *row);

/* Points into the row. */
struct bytes_view row_read_string(struct bytes_reader *row);

/*
 * The number of elements of an Array. Each element has at least @min_bytes, so that a number that
 * does not fit into the row is an error before the caller allocates memory for it.
 */
size_t row_read_count(struct bytes_reader *row, size_t min_bytes);

/*
 * Appends @data as a string literal of SQL. Every byte but letters and digits is escaped, so that
 * the literal cannot end early.
 */
void sql_add_string(struct bytes *sql, const void *data, size_t size);
