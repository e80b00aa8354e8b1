/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Reads code objects of CPython from the memory of a process: the names of a function, its file,
 * and its line table, which the server decodes. The process may have freed the object, or prepared
 * false ones: everything is bounded, and nothing but sizes is believed.
 */

#include "agent/interpreter/python/python_layout.h"
#include "common/limits.h"

/* Bytes of UTF-8. Longer names are cut. */
#define PYTHON_NAME_BYTES 1024
#define PYTHON_FILE_BYTES BATCH_MAX_TEXT_BYTES

#define PYTHON_CODE_MAX_BYTES (2 * PYTHON_NAME_BYTES + PYTHON_FILE_BYTES + MAX_LINE_TABLE_BYTES)

/* Copies [@address, @address + @size) to @buffer. 0, or a negative errno. */
typedef int (*python_memory_read)(void *arg, uint64_t address, void *buffer, size_t size);

struct python_memory {
	const struct python_code_layout *layout; /* of the version of CPython in the process */
	python_memory_read read;
	void *arg;
};

/* The content of a code object. The texts are UTF-8 without NUL. */
struct python_code {
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

static inline size_t python_code_content_bytes(const struct python_code *code)
{
	return (size_t)code->function_bytes + code->qualified_name_bytes + code->file_bytes +
	       code->line_table_bytes;
}

/*
 * Reads the object at @address: *ret_code, and into @content one after the other function,
 * qualified name, file and line table, at most PYTHON_CODE_MAX_BYTES. 1: read; 0: its mark is
 * @known_mark, and nothing else was read; -EBADMSG: there is no code object; or the negative errno
 * of memory->read.
 */
int python_code_read(const struct python_memory *memory, uint64_t address, uint64_t known_mark,
		     struct python_code *ret_code, uint8_t *content);
