/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Converts symbol tables to and from their stored form: the columns of the flat form as differences
 * in variable-length integers, compressed with zstd. It has about an eighth of the size of the flat
 * form, a version and a checksum. The same table always gives the same bytes.
 */

#include "common/bytes.h"

/*
 * Appends the stored form of @flat, which must be a valid table, to @out. Returns 0, -ENOMEM,
 * -EFBIG.
 */
int symbol_pack(struct bytes_view flat, struct bytes *out);

/*
 * Appends the flat form to @out. -EBADMSG: damaged; -ESTALE: another version; -EFBIG: beyond the
 * ceiling of @out; -ENOMEM. The result is not checked; symbol_file_open_memory() does that.
 */
int symbol_unpack(struct bytes_view stored, struct bytes *out);

/* Reads the size of the flat form from the header. */
int symbol_pack_flat_bytes(struct bytes_view stored, uint64_t *ret_bytes);
