/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The unwind table of an executable as a file: chunks that are loaded one by one into the BPF maps,
 * when a stack needs them. Nothing of it stays in memory but struct table_file.
 *
 *   header     80 bytes, see table_file.c, with a checksum
 *   records    one for each chunk: checksum, chunk (4 KiB), its rules
 *   index      by rising ELF address: {first ELF address, place and size of the record}
 *
 * Little-endian, as every machine we run on. Whoever writes a file is not trusted by its reader
 * (the bytes it was compiled from are anybody's): a record is checked for everything that the maps
 * rely on, which a lookup in them does not check again. What remains possible is wrong rules for
 * this one executable.
 */

#include "agent/unwind/chunk_writer.h"
#include "common/hash.h"

#define TABLE_FILE_HEADER_BYTES 80

/* Of a table: code reaches 4 GiB (UNWIND_MAX_SPAN_BYTES). */
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
 * Writes @table to @fd, an empty file, from its beginning. @key: what it was compiled from; all
 * zero where that is not known. 0, -ENOMEM, or what write(2) says. *ret_bytes is the file's size.
 */
int table_file_write(int fd, const struct hash128 *key, const struct unwind_table *table,
		     uint64_t *ret_bytes);

/*
 * Looks at header and size of @fd, which is borrowed. 0; -EBADMSG: not a whole table of @key; errno
 * of reading.
 */
int table_file_open(int fd, const struct hash128 *key, struct table_file *ret_file);

/*
 * Reads the chunk with the rows of @elf_addr. 1; 0: the table has no rows there; -EBADMSG: the file
 * is damaged; errno of reading.
 */
int table_file_read(const struct table_file *file, uint64_t elf_addr,
		    struct chunk_record *ret_record);
