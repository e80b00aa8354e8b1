/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Extracts the parts of an executable that name its code into an ELF file.
 *
 * The extract has the ELF header, the program headers byte for byte (the server uses them to map
 * file offsets to addresses), the content of the requested sections, and headers without content
 * for all other sections. A loaded section without content keeps its address and size as
 * SHT_NOBITS; any other section becomes empty. Section numbers do not change.
 *
 * The result is a pieced file (common/pieced_file.h): it contains the headers and lists the ranges
 * of the executable that follow them. A helper parses the executable and writes the pieced file, so
 * that the process that sends the extract only copies bytes.
 */

#include <stdint.h>

/* Values of Wanted.what in proto/batch.proto. */
/*
 * Symbol tables, Go's line tables, notes, debug link, mini debuginfo. Also .eh_frame if the file
 * has neither .symtab nor mini debuginfo: it contains the start addresses of nameless functions.
 */
#define EXTRACT_SYMBOLS 1
#define EXTRACT_DEBUG   2 /* the above and all debug sections */

/*
 * Writes the extract of @fd into the empty file @out_fd. Returns 0; -ENODATA: the extract would
 * name nothing (no section headers, or none of the sections); -EBADMSG: sections overlap, so that
 * the extract would be larger than the file; or the errors of elf_file_open() and of writing.
 */
int elf_extract_write(int fd, uint32_t what, int out_fd);
