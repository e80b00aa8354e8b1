/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The form in which a symbol table is stored and sent: the columns of the flat form as differences
 * in variable-length integers, then zstd. About an eighth of the flat form. Carries a version and a
 * checksum; the same table always gives the same bytes.
 */

#include "common/bytes.h"

/*
 * Appends the stored form of a flat table (which must be a whole one) to @out. 0, -ENOMEM, -EFBIG.
 */
int symbol_pack(struct bytes_view flat, struct bytes *out);

/*
 * Appends the flat form to @out, whose ceiling bounds it. -EBADMSG: damaged; -ESTALE: another
 * version; -EFBIG; -ENOMEM. Who has no reason to trust the stored bytes still opens what comes out
 * with symbol_file.h, which checks it.
 */
int symbol_unpack(struct bytes_view stored, struct bytes *out);

/*
 * Bytes that the flat form will take, for accounts and for a ceiling; checked by symbol_unpack().
 */
int symbol_pack_flat_bytes(struct bytes_view stored, uint64_t *ret_bytes);
