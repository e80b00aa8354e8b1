/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The identity of an ELF file: GNU build-ID, else Go build-ID, else a hash of .text. See
 * common/executable_id.h. GNU note: name "GNU", type NT_GNU_BUILD_ID (3). Go note: name "Go", type
 * 4, section .note.go.buildid.
 */

#include "common/elf/elf_file.h"
#include "common/executable_id.h"

/*
 * Looks through the bytes of a note section or segment (4-byte aligned notes). 1 found, 0 none,
 * -EBADMSG.
 */
int build_id_from_notes(struct bytes_view notes, struct executable_id *ret_id);

/* 1 found, 0 when the file has neither notes nor .text, negative errno when it cannot be read. */
int build_id_from_elf(const struct elf_file *elf, struct executable_id *ret_id);

/*
 * The hash of .text alone, whatever the notes are. 1 hashed, 0 when there is no .text, or one of
 * more than 512 MiB.
 */
int build_id_from_text(const struct elf_file *elf, struct executable_id *ret_id);
