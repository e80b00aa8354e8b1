/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The parts of an executable that name its code, as an ELF file of their own.
 *
 * The file has the original's header, its program headers byte for byte (they tell the server how
 * file offsets become addresses), the sections asked for with their content, and all other sections
 * without it: those that are loaded keep address and size as SHT_NOBITS, the rest become empty.
 * Section numbers stay what they were.
 *
 * The result is a pieced file (common/pieced_file.h): it has headers, and says which ranges of the
 * executable follow them. A helper parses the executable and writes it; who sends the extract reads
 * bytes only.
 */

#include <stdint.h>

/* proto/batch.proto, Wanted.what */
/*
 * Symbol tables, Go's line tables, notes, debug link, mini debuginfo; and .eh_frame where neither
 * .symtab nor mini debuginfo is there: it has the beginnings of the functions that nothing names.
 */
#define EXTRACT_SYMBOLS 1
#define EXTRACT_DEBUG   2 /* those and all debug sections */

/*
 * Writes the extract of @fd into the empty file @out_fd. 0; -ENODATA: there is nothing in it that
 * would name anything (no section headers, or none of the sections); -EBADMSG: sections overlap so
 * that the extract would be larger than the file; those of elf_file_open(); those of writing.
 */
int elf_extract_write(int fd, uint32_t what, int out_fd);
