/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A code object that was read from the memory of a process, of any runtime: names of a function,
 * its file, and its line table, which the server decodes.
 */

#include <string.h>

#include "common/hash.h"
#include "common/limits.h"
#include "common/utf8.h"

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

/* The mark of an object that has these addresses. */
static inline uint64_t read_code_mark(const void *addresses, size_t size)
{
	uint64_t mark = hash64_of(addresses, size);

	return mark ? mark : 1;
}

/* Writes @text to @to. Returns its size. */
static inline uint32_t read_code_put(const char *text, uint8_t *to)
{
	memcpy(to, text, strlen(text));
	return (uint32_t)strlen(text);
}

/*
 * Appends the function's name to the qualified name, which is the name of its class or package with
 * a separator so far. It is cut at the beginning of a character.
 */
static inline void read_code_qualify(struct read_code *code, uint8_t *content)
{
	uint8_t *to = content + code->function_bytes + code->qualified_name_bytes;
	size_t size = MIN(code->function_bytes, CODE_NAME_BYTES - code->qualified_name_bytes);

	size = utf8_valid_length((const char *)content, size);
	memcpy(to, content, size);
	code->qualified_name_bytes += (uint32_t)size;
}
