/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What the agent and the server need to know of an ELF file without parsing its symbols: class,
 * machine, type, load segments, sections by name, notes. Everything is read by pread through a
 * caller's fd and bounds-checked: a file that is truncated under us gives an error, never SIGBUS.
 * Little-endian files only (-ENOTSUP otherwise), of 32 bits only where the caller says so: their
 * headers are given as those of 64-bit files, with the same meaning. Format: System V gABI, "ELF
 * Header", "Program Header", "Sections".
 */

#include "common/bytes.h"

struct load_segment {
	uint64_t file_offset;
	uint64_t vaddr;
	uint64_t file_size;
	uint64_t memory_size;
	uint32_t flags; /* PF_X ... */
};

struct elf_section {
	const char *name; /* lives in the elf_file */
	uint32_t type;
	uint64_t flags;
	uint64_t vaddr;
	uint64_t file_offset;
	uint64_t size;
	uint32_t link;
	uint32_t info;
	uint64_t alignment;
	uint64_t entry_size;
};

struct elf_file {
	int fd; /* borrowed */
	uint64_t file_size;
	uint16_t type;    /* ET_EXEC, ET_DYN, ... */
	uint16_t machine; /* EM_X86_64, EM_AARCH64 */
	uint64_t entry;
	struct load_segment *load_segments; /* PT_LOAD in file order */
	size_t n_load_segments;
	struct elf_section *sections; /* empty when the section headers are stripped */
	size_t n_sections;
	char *section_names;
	bool is_32_bit;
	/* the Elf64_Ehdr as it stands in the file, if that is of 64 bits */
	uint8_t header[64];
	uint8_t *program_headers; /* all Elf64_Phdr, likewise */
	size_t n_program_headers;
};

/*
 * 0, -ENOEXEC (no ELF), -ENOTSUP, -EBADMSG (inconsistent), -ENODATA (truncated), -ENOMEM. Does not
 * take @fd.
 */
int elf_file_open(int fd, struct elf_file **ret_elf);

/* The same, and 32-bit files too. */
int elf_file_open_any_class(int fd, struct elf_file **ret_elf);
struct elf_file *elf_file_free(struct elf_file *elf);

/* The first section of this name, or NULL. */
const struct elf_section *elf_file_section(const struct elf_file *elf, const char *name);

/*
 * Appends the section's bytes as they stand in the file. -ENODATA (truncated), -EFBIG (@out's
 * ceiling).
 */
int elf_file_read_section(const struct elf_file *elf, const struct elf_section *section,
			  struct bytes *out);

/* Converts through the load segments. 1 found, 0 in no segment. */
int load_segments_offset_to_vaddr(const struct load_segment *segments, size_t count,
				  uint64_t file_offset, uint64_t *ret_vaddr);

#include "common/scoped.h"
DEFINE_SCOPED(struct elf_file *, elf_file_free);
