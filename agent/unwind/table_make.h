/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Makes the unwind table of an executable: ELF file in, table file out. For unwind tables, foreign
 * bytes are parsed only by these two functions.
 *
 * A caller that isolates them (in another process, in a sandbox) has to provide:
 *
 *   elf_fd    readable and seekable. Only pread(2) and fstat(2) are used, and no other file is
 *             opened.
 *   out_fd    an empty file, writable and seekable: write(2) from its beginning, then one pwrite(2)
 *             of the header. table_file_open() and table_file_read() check the result and do not
 *             trust it.
 *   memory    1 MiB, and at the peak 24 bytes a row of the largest input (libLLVM: 0.9 million
 *             rows, 14 MiB). It is bounded by UNWIND_MAX_ROWS.
 *   time      1 to 40 ms for most files, 0.2 s a million rows, and seconds for code without call
 *             frame information. There is no limit inside.
 *
 * The functions keep no state and may be called from any thread.
 */

#include "agent/unwind/unwind_compile.h"
#include "common/hash.h"

struct table_made {
	uint64_t file_bytes;
	uint32_t n_rows;
	uint32_t n_fdes_lost;
};

/*
 * A hash of the options and of everything that the table would be compiled from: equal keys, equal
 * tables. 1: *ret_key; 0: storing the table is not worth it, because it is compiled as fast as it
 * is found again, or the size of its input is not known. Negative errno: the file cannot be read,
 * or is no ELF file.
 */
int table_make_key(int elf_fd, const struct unwind_options *options, struct hash128 *ret_key);

/*
 * @key is written into the file; all zero: not known. 1: made; 0: the file has no call frame
 * information, and nothing was written. -ENOEXEC, -EBADMSG, -ENODATA: the file cannot be read, or
 * is no ELF file; -E2BIG; -ENOMEM; or the errno of writing.
 */
int table_make(int elf_fd, const struct unwind_options *options, const struct hash128 *key,
	       int out_fd, struct table_made *ret_made);
