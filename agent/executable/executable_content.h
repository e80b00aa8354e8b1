/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A hash of the parts of an ELF file that decide how its code is unwound and where it is loaded:
 * load segments, call frame information, code. A build-ID is a note that anybody can write; two
 * files with one build-ID are the same executable only if this hash is equal too. It survives
 * strip(1), which changes none of these parts.
 *
 * Symbol tables are left out, because a stripped file and its unstripped twin are one executable.
 */

#include "common/elf/elf_file.h"
#include "common/executable_id.h"
#include "common/hash.h"

/*
 * @id is hashed too: what the notes of the file say. Two libraries may differ in the names of their
 * functions alone. 0, -ENODATA (the file was cut short), -ENOMEM.
 */
int executable_content_hash(const struct elf_file *elf, const struct executable_id *id,
			    struct hash128 *ret_hash);
