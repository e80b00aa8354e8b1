/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Reads the bytes of a section in order. A section that is compressed with zlib is inflated
 * (SHF_COMPRESSED; System V gABI, "Section Compression"), as Go compresses .debug_frame. Other
 * compressions are not supported.
 */

#include "common/elf/elf_file.h"

struct section_reader;

/*
 * @max_size_bytes bounds the bytes that are read, and those that they inflate to. 1: opened; 0: the
 * compression is not supported, or there is no room for its header; -ENODATA, -ENOMEM. @elf has to
 * outlive the reader.
 */
int section_reader_new(const struct elf_file *elf, uint64_t file_offset, uint64_t size,
		       bool is_compressed, uint64_t max_size_bytes,
		       struct section_reader **ret_reader);
struct section_reader *section_reader_free(struct section_reader *reader);

/* Most bytes that can be read. A damaged stream ends before. */
uint64_t section_reader_size(const struct section_reader *reader);

/*
 * Reads @size bytes, fewer only at the end. Returns how many; 0 at the end. A damaged stream ends
 * early. -ENODATA: the file was truncated meanwhile.
 */
ssize_t section_reader_read(struct section_reader *reader, void *buffer, size_t size);

#include "common/scoped.h"
DEFINE_SCOPED(struct section_reader *, section_reader_free);
