/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A hash of everything in a file that its unwind table is compiled from: equal hashes, equal
 * tables. A build-ID cannot be used, because a file may claim any. If unwind_table_compile() reads
 * another part of the file, it has to be hashed here.
 */

#include "agent/unwind/unwind_compile.h"
#include "common/hash.h"

/*
 * *ret_bytes: how many bytes of call frame information and code were hashed, from which a caller
 * can decide whether the table is worth storing. 1: hashed; 0: the file has nothing to hash, or no
 * section headers and so no known sizes; -ENODATA, -ENOMEM.
 */
int unwind_input_hash(const struct elf_file *elf, const struct unwind_options *options,
		      struct hash128 *ret_hash, uint64_t *ret_bytes);
