/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The parts of an executable that name its code, as an ELF file of their own, read as a stream.
 *
 * The file has the original's header, its program headers byte for byte (they tell the server how file offsets become
 * addresses), the sections asked for with their content, and all other sections without it: those that are loaded
 * keep address and size as SHT_NOBITS, the rest become empty. Section numbers stay what they were.
 *
 * Content is copied by pread when it is read: nothing is held in memory but headers. Used by one thread.
 */

#include "common/elf/elf_file.h"

/* proto/batch.proto, Wanted.what */
#define EXTRACT_SYMBOLS 1 /* symbol tables, Go's line tables, notes, debug link, mini debuginfo */
#define EXTRACT_DEBUG	2 /* those and all debug sections */

struct elf_extract;

/*
 * Plans the extract of @fd, which is borrowed and must stay open. 0; -ENODATA: there is nothing in it that would name
 * anything (no section headers, or none of the sections); -EBADMSG: sections overlap so that the extract would be
 * larger than the file; those of elf_file_open().
 */
int elf_extract_new(int fd, uint32_t what, struct elf_extract **ret_extract);
struct elf_extract *elf_extract_free(struct elf_extract *extract);

uint64_t elf_extract_size(const struct elf_extract *extract);

/* The next @size bytes; no more than elf_extract_size() in all may be asked for. 0, -ENODATA (file cut short), ... */
int elf_extract_read(struct elf_extract *extract, void *buffer, size_t size);

void elf_extract_rewind(struct elf_extract *extract);

#include "common/scoped.h"
DEFINE_SCOPED(struct elf_extract *, elf_extract_free);
