/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A file with the unwind table of an executable, cut into chunks. A chunk is loaded into the BPF
 * maps when a stack needs it. In memory, an open file needs only struct table_file.
 *
 *   header     80 bytes, see table_file.c, with a checksum
 *   records    one for each chunk: checksum, chunk (4 KiB), its rules
 *   index      by rising ELF address: {first ELF address, offset and size of the record}
 *
 * All numbers are little-endian, as on every supported machine. The reader does not trust the
 * writer of a file, because the table was compiled from foreign bytes. It checks each record for
 * everything that a lookup in the maps relies on. A hostile writer can cause wrong rules for its
 * own executable only.
 */

#include "agent/unwind/table/chunk_writer.h"
#include "common/hash.h"

#define TABLE_FILE_HEADER_BYTES 80

/* Most pages of a table: code spans 4 GiB (UNWIND_MAX_SPAN_BYTES). */
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
 * Writes @table to @fd, an empty file. @key: a hash of the input that the table was compiled from;
 * all zero: not known. 0, -ENOMEM, or the errno of write(2). *ret_bytes is the size of the file.
 */
int table_file_write(int fd, const struct hash128 *key, const struct unwind_table *table,
		     uint64_t *ret_bytes);

/*
 * Checks the header and the size of @fd, which is borrowed. 0; -EBADMSG: it is not a complete table
 * with @key; errno of reading.
 */
int table_file_open(int fd, const struct hash128 *key, struct table_file *ret_file);

/*
 * Reads the chunk with the rows of @elf_addr. 1; 0: the table has no rows there; -EBADMSG: the file
 * is damaged; errno of reading.
 */
int table_file_read(const struct table_file *file, uint64_t elf_addr,
		    struct chunk_record *ret_record);
