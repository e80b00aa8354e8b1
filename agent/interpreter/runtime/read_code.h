/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A code object that was read from the memory of a process, of any runtime: names of a function,
 * its file, and its line table, which the server decodes.
 */

#include "common/limits.h"

/* Bytes of UTF-8. Longer names are cut. */
#define CODE_NAME_BYTES 1024
#define CODE_FILE_BYTES BATCH_MAX_TEXT_BYTES

#define CODE_CONTENT_BYTES (2 * CODE_NAME_BYTES + CODE_FILE_BYTES + MAX_LINE_TABLE_BYTES)

/* Copies [@address, @address + @size) to @buffer. 0, or a negative errno. */
typedef int (*memory_read)(void *arg, uint64_t address, void *buffer, size_t size);

/* The content of a code object. The texts are UTF-8 without NUL. */
struct read_code {
	/*
	 * Hash of the addresses of names and line table: if it is the same as before, the object
	 * was not replaced by another one at the same address
	 */
	uint64_t mark;
	uint32_t first_line;
	uint32_t line_table_bytes; /* 0 if the table is larger than MAX_LINE_TABLE_BYTES */
	uint32_t function_bytes;
	uint32_t qualified_name_bytes;
	uint32_t file_bytes;
	uint32_t zero;
};

static inline size_t read_code_content_bytes(const struct read_code *code)
{
	return (size_t)code->function_bytes + code->qualified_name_bytes + code->file_bytes +
	       code->line_table_bytes;
}
