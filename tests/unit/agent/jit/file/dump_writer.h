/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Writes jitdumps in either byte order, for tests. */

#include "common/bytes.h"

struct dump_writer {
	struct bytes bytes;
	bool is_swapped;
};

static inline void put_u32(struct dump_writer *writer, uint32_t value)
{
	if (writer->is_swapped)
		value = __builtin_bswap32(value);
	(void)bytes_append(&writer->bytes, &value, sizeof(value));
}

static inline void put_u64(struct dump_writer *writer, uint64_t value)
{
	if (writer->is_swapped)
		value = __builtin_bswap64(value);
	(void)bytes_append(&writer->bytes, &value, sizeof(value));
}

static inline void put_text(struct dump_writer *writer, const char *text)
{
	(void)bytes_append(&writer->bytes, text, strlen(text) + 1);
}

static inline struct dump_writer dump_begin(bool is_swapped, uint64_t flags)
{
	struct dump_writer writer = { .bytes = BYTES_INIT(MIB), .is_swapped = is_swapped };

	put_u32(&writer, 0x4a695444);
	put_u32(&writer, 1);
	put_u32(&writer, 40);
	put_u32(&writer, 62);
	put_u32(&writer, 0);
	put_u32(&writer, 1234);
	put_u64(&writer, 1);
	put_u64(&writer, flags);
	return writer;
}

static inline void put_prefix(struct dump_writer *writer, uint32_t id, size_t size, uint64_t time)
{
	put_u32(writer, id);
	put_u32(writer, (uint32_t)size);
	put_u64(writer, time);
}

/* Code of @size bytes. */
static inline void dump_load(struct dump_writer *writer, uint64_t start, uint32_t size,
			     const char *name, uint64_t time)
{
	put_prefix(writer, 0, 56 + strlen(name) + 1 + size, time);
	put_u32(writer, 1234);
	put_u32(writer, 1234);
	put_u64(writer, start);
	put_u64(writer, start);
	put_u64(writer, size);
	put_u64(writer, start);
	put_text(writer, name);
	for (uint32_t i = 0; i < size; i++)
		(void)bytes_append_byte(&writer->bytes, 0xcc);
}

static inline void dump_move(struct dump_writer *writer, uint64_t from, uint64_t to, uint32_t size,
			     uint64_t time)
{
	put_prefix(writer, 1, 64, time);
	put_u32(writer, 1234);
	put_u32(writer, 1234);
	put_u64(writer, to);
	put_u64(writer, from);
	put_u64(writer, to);
	put_u64(writer, size);
	put_u64(writer, from);
}

struct dump_line {
	uint64_t pc;
	uint32_t line;
	const char *file;
};

static inline void dump_lines(struct dump_writer *writer, uint64_t start,
			      const struct dump_line *lines, size_t count)
{
	size_t size = 32;

	for (size_t i = 0; i < count; i++)
		size += 16 + strlen(lines[i].file) + 1;
	put_prefix(writer, 2, size, 0);
	put_u64(writer, start);
	put_u64(writer, count);
	for (size_t i = 0; i < count; i++) {
		put_u64(writer, lines[i].pc);
		put_u32(writer, lines[i].line);
		put_u32(writer, 0);
		put_text(writer, lines[i].file);
	}
}

static inline void dump_close(struct dump_writer *writer)
{
	put_prefix(writer, 3, 16, 0);
}
