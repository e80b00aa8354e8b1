/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Reads the headers of an ELF file: class, machine, type, load segments and sections, but no
 * symbols. All reads are bounds-checked and use pread() on the caller's descriptor. So a file that
 * is truncated meanwhile causes an error and not SIGBUS. Supports little-endian files only
 * (-ENOTSUP otherwise). 32-bit files are supported on request, and their headers are converted to
 * 64-bit headers. Format: System V gABI, "ELF Header", "Program Header", "Sections".
 */

#include "common/bytes.h"

struct load_segment {
	uint64_t file_offset;
	uint64_t vaddr;
	uint64_t file_size;
	uint64_t memory_size;
	uint32_t flags; /* PF_R, PF_W, PF_X */
};

struct elf_section {
	const char *name; /* valid as long as the elf_file */
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
	uint16_t type;    /* ET_EXEC, ET_DYN, ET_REL or another ET_ constant */
	uint16_t machine; /* EM_X86_64, EM_AARCH64 */
	uint64_t entry;
	struct load_segment *load_segments; /* PT_LOAD in file order */
	size_t n_load_segments;
	struct elf_section *sections; /* empty if the section headers are stripped */
	size_t n_sections;
	char *section_names;
	bool is_32_bit;
	uint8_t header[64];       /* Elf64_Ehdr: as in the file, or converted from Elf32_Ehdr */
	uint8_t *program_headers; /* array of Elf64_Phdr: as in the file, or converted */
	size_t n_program_headers;
};

/*
 * 0, -ENOEXEC (not ELF), -ENOTSUP, -EBADMSG (inconsistent), -ENODATA (truncated), -ENOMEM. The
 * caller closes @fd, after elf_file_free().
 */
int elf_file_open(int fd, struct elf_file **ret_elf);

/* The same, but also accepts 32-bit files. */
int elf_file_open_any_class(int fd, struct elf_file **ret_elf);
struct elf_file *elf_file_free(struct elf_file *elf);

/* The first section with this name, or NULL. */
const struct elf_section *elf_file_section(const struct elf_file *elf, const char *name);

/*
 * Appends the bytes of the section as they are in the file. 0, -ENODATA (truncated), -EFBIG (the
 * ceiling of @out), or another negative errno.
 */
int elf_file_read_section(const struct elf_file *elf, const struct elf_section *section,
			  struct bytes *out);

/* Converts an offset by the load segments. 1: converted, 0: in no segment. */
int load_segments_offset_to_vaddr(const struct load_segment *segments, size_t count,
				  uint64_t file_offset, uint64_t *ret_vaddr);

#include "common/scoped.h"
DEFINE_SCOPED(struct elf_file *, elf_file_free);
