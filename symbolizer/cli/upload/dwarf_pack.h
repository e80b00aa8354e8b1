/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Packs .dwo files of DWARF 5 into one .dwp, with what names functions: entries, abbreviations,
 * strings and ranges; no lists of locations, no macros. For what no other packer takes: binutils'
 * knows no DWARF 5, and LLVM's does not end with GCC's of C (its abbreviations have
 * DW_FORM_implicit_const before that of the unit).
 *
 * Format: DWARF 5, 7.3.5.
 */

#include "common/bytes.h"

#define DWARF_PACK_MESSAGE_SIZE 256

/* A .dwp of a program of 4 GiB of DWARF has offsets of 32 bits. */
#define DWARF_PACK_MAX_BYTES ((size_t)(2 * GIB))

/*
 * Appends the package of the @count files at @paths to @out, which has to be empty. 0; -EBADMSG or
 * -ENOTSUP with a message (not of DWARF 5, compressed, damaged); -EFBIG, -ENOMEM, or why a file
 * cannot be read.
 */
int dwarf_pack(const char *const *paths, size_t count, struct bytes *out,
	       char ret_message[DWARF_PACK_MESSAGE_SIZE]);
