/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Makes the unwind table of an executable: input file in, table file out. All parsing of foreign
 * bytes for unwind tables is behind these two functions.
 *
 * What a caller that isolates them (another process, a sandbox) has to provide:
 *
 *   elf_fd    readable, seekable; only pread(2) and fstat(2) are used. Nothing else is opened.
 *   out_fd    an empty file, writable and seekable: write(2) from its beginning, then one pwrite(2) of the header.
 *             The result is checked by table_file_open() and table_file_read(), which do not trust it.
 *   memory    24 bytes a row of the largest input at its peak, beside 1 MiB (libLLVM: 0.9 million rows, 14 MiB); it is
 *             bounded by UNWIND_MAX_ROWS.
 *   time      1 to 40 ms for most, 0.2 s a million rows, and seconds for code without call frame information; there is
 *             no limit inside.
 *
 * Both functions keep nothing and may run in any thread.
 */

#include "common/hash.h"

struct table_made {
	uint64_t file_bytes;
	uint32_t n_rows;
	uint32_t n_fdes_lost;
};

/*
 * What the table would be made from, as one hash: equal keys, equal tables. 1 and *ret_key; 0: it
 * is not worth keeping (compiled sooner than found again), or has no known end. Negative errno: not
 * an ELF file that can be read.
 */
int table_make_key(int elf_fd, struct hash128 *ret_key);

/*
 * @key goes into the file (all zero: not known). 1 made; 0: the file has no call frame information,
 * and nothing was written. -ENOEXEC, -EBADMSG, -ENODATA: not an ELF file that can be read; -E2BIG;
 * -ENOMEM; or what writing says.
 */
int table_make(int elf_fd, const struct hash128 *key, int out_fd, struct table_made *ret_made);
