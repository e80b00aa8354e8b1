/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * An unwind table as bytes, for the cache on disk: a header, then rows, pages and rules as they stand in memory.
 *
 *   header   56 bytes, see table_file.c; the checksum covers all that follows it
 *   rows[n_rows], rules[n_rules], page_first[n_pages + 1]
 *
 * Little-endian, as every machine we run on. The bytes are read back by the program that wrote them; others' are
 * refused, so that there is no format to keep.
 */

#include "agent/unwind/unwind_table.h"
#include "common/hash.h"

#define TABLE_FILE_HEADER_BYTES 56

/* Of the longest table that there is: 32 MiB of rows and what belongs to them. */
#define TABLE_FILE_MAX_BYTES (64 * MIB)

/* Appends the whole file to @out. 0, -ENOMEM, -EFBIG. */
int table_file_encode(const struct unwind_table *table, const struct hash128 *key, struct bytes *out);

/*
 * 0 or -EBADMSG (anything that is not a whole, sound table of this key), -ENOMEM. A table that comes out may be
 * looked up at any address.
 */
int table_file_decode(struct bytes_view file, const struct hash128 *key, struct unwind_table *ret_table);
