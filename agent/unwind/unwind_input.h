/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What an unwind table is compiled from, as one hash: equal hashes, equal tables. A build-ID would
 * not do: it is whatever a file says of itself. Whoever makes unwind_table_compile() read more has
 * to hash more here.
 */

#include "common/elf/elf_file.h"
#include "common/hash.h"

/*
 * 1 hashed; 0: nothing to hash, or a file without section headers, whose parts have no known end.
 * @ret_bytes: of the call frame information, by which a caller can tell whether the table is worth
 * keeping. -ENODATA, -ENOMEM.
 */
int unwind_input_hash(const struct elf_file *elf, struct hash128 *ret_hash, uint64_t *ret_bytes);
