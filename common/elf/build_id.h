/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Finds the identity of an ELF file (common/executable_id.h): the GNU build-ID, else the Go
 * build-ID, else a hash of .text. GNU note: name "GNU", type NT_GNU_BUILD_ID (3). Go note: name
 * "Go", type 4, section .note.go.buildid.
 */

#include "common/elf/elf_file.h"
#include "common/executable_id.h"

/*
 * Searches the bytes of a note section or segment (notes aligned to 4 bytes). 1: found, 0: none,
 * -EBADMSG.
 */
int build_id_from_notes(struct bytes_view notes, struct executable_id *ret_id);

/* 1: found, 0: the file has neither such a note nor .text, or negative errno. */
int build_id_from_elf(const struct elf_file *elf, struct executable_id *ret_id);

/*
 * Hashes .text and ignores notes. 1: hashed, 0: .text is missing, empty or larger than 512 MiB, or
 * negative errno.
 */
int build_id_from_text(const struct elf_file *elf, struct executable_id *ret_id);
