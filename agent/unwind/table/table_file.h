/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A file with the unwind table of one executable, divided into chunks. The agent loads a chunk into
 * the BPF maps when a stack needs it. An open file needs no memory besides struct table_file.
 *
 *   header     80 bytes, see table_file.c, with a checksum
 *   records    one for each chunk: checksum, chunk (4 KiB), its rules
 *   index      by rising ELF address: {first ELF address, offset and size of the record}
 *
 * All numbers are little-endian, as on every supported machine. The reader does not trust a file,
 * because its writer parsed an executable that may be hostile. The reader checks everything in a
 * record that a lookup in the maps relies on. So a hostile executable can cause wrong rules for
 * itself only.
 */

#include "agent/unwind/table/chunk_writer.h"
#include "common/hash.h"

#define TABLE_FILE_HEADER_BYTES 80

/* Maximum number of pages of a table: its code spans at most 4 GiB (UNWIND_MAX_SPAN_BYTES). */
#define UNWIND_MAX_PAGES (UINT64_C(1) << 20)

struct table_file {
	int fd;
	uint64_t first_page; /* ELF address >> UNWIND_PAGE_SHIFT */
	uint64_t n_pages;
	uint32_t n_chunks;
	uint32_t n_rows;
	uint64_t index_offset;
	uint64_t bytes; /* of the file */
};

/*
 * Writes @table to @fd, an empty file. @key is a hash of the input that the table was compiled
 * from, or all zero if it is not known. 0, -ENOMEM, or the negative errno of write(2). *ret_bytes
 * is the size of the file.
 */
int table_file_write(int fd, const struct hash128 *key, const struct unwind_table *table,
		     uint64_t *ret_bytes);

/*
 * Checks the header and the size of the file @fd, which the caller keeps open while it uses
 * *ret_file, and closes. 0; -EBADMSG: the file is not a complete table with @key; negative errno of
 * reading.
 */
int table_file_open(int fd, const struct hash128 *key, struct table_file *ret_file);

/*
 * Reads the chunk with the rows of @elf_addr. 1: *ret_record has it; 0: the table has no rows
 * there; -EBADMSG: the file is damaged; negative errno of reading.
 */
int table_file_read(const struct table_file *file, uint64_t elf_addr,
		    struct chunk_record *ret_record);
