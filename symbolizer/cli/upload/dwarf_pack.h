/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Packs .dwo files of DWARF 5 into one .dwp, with the sections that name functions: entries,
 * abbreviations, strings and ranges, but no location lists and no macros.
 *
 * It exists because dwp of binutils crashes on DWARF 5, and llvm-dwp of Debian 12 does not end with
 * the .dwo files that GCC makes of C (docs/upload-in-ci.md). It is frozen: it gets corrections, but
 * no new features.
 *
 * Format: DWARF 5, 7.3.5.
 */

#include "common/bytes.h"

#define DWARF_PACK_MESSAGE_SIZE 256

/* Offsets in the index of a .dwp have 32 bits; this limit leaves room below 4 GiB. */
#define DWARF_PACK_MAX_BYTES ((size_t)(2 * GIB))

/*
 * Appends the package of the @count files at @paths to @out, which has to be empty. Returns 0, or a
 * negative errno: -EBADMSG (damaged) or -ENOTSUP (not DWARF 5, or compressed) with a message,
 * -EFBIG, -ENOMEM, or the error of reading a file. @ret_message is "" if there is no message.
 */
int dwarf_pack(const char *const *paths, size_t count, struct bytes *out,
	       char ret_message[DWARF_PACK_MESSAGE_SIZE]);
