/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The bytes of a section, in order: as they stand in the file, or inflated where the section is
 * compressed with zlib (SHF_COMPRESSED; System V gABI, "Section Compression"), as Go does with
 * .debug_frame. Other compressions are not known.
 */

#include "common/elf/elf_file.h"

struct section_reader;

/*
 * @max_size_bytes bounds what is read, and what it inflates to. 1 opened; 0: a compression that is
 * not known, or no room for its header; -ENODATA, -ENOMEM. @elf has to outlive the reader.
 */
int section_reader_new(const struct elf_file *elf, uint64_t file_offset, uint64_t size,
		       bool is_compressed, uint64_t max_size_bytes,
		       struct section_reader **ret_reader);
struct section_reader *section_reader_free(struct section_reader *reader);

/* What there is to read at most. A damaged stream ends before. */
uint64_t section_reader_size(const struct section_reader *reader);

/*
 * Up to @size bytes, fewer only at the end; 0 at the end, which may be early in a damaged stream.
 * -ENODATA: the file was truncated under us.
 */
ssize_t section_reader_read(struct section_reader *reader, void *buffer, size_t size);

#include "common/scoped.h"
DEFINE_SCOPED(struct section_reader *, section_reader_free);
