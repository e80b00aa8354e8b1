/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Hashes the parts of an ELF file that determine how its code is unwound and where it is loaded:
 * load segments, call frame information and code. Anybody can write any build-ID into a file, so
 * two files with the same build-ID are the same executable only if this hash is equal too. strip(1)
 * changes none of these parts, so a stripped file has the same hash.
 *
 * Symbol tables are not hashed, because a stripped file and its unstripped twin are one executable.
 */

#include "common/elf/elf_file.h"
#include "common/executable_id.h"
#include "common/hash.h"

/*
 * Also hashes @id, the identity from the notes of the file, because two libraries may differ only
 * in the names of their functions. 0, -ENODATA (the file is truncated), -ENOMEM.
 */
int executable_content_hash(const struct elf_file *elf, const struct executable_id *id,
			    struct hash128 *ret_hash);
