/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * An ELF file and the contents of its sections, for the readers of symbols and DWARF. Compressed
 * sections (zlib, zstd, GNU's .zdebug) are expanded, and sections of object files (kernel modules)
 * are relocated. 32 and 64 bits, little-endian only. Opening the file checks all section headers
 * against its size; elf_image_data() expands and relocates a section when it is first read.
 *
 * Owned by one thread. Format: System V gABI, "ELF Header", "Sections", "Section Compression".
 */

#include "common/bytes.h"
#include "common/executable_id.h"
#include "common/scoped.h"

struct elf_image_section {
	const char *name; /* as in the file, also ".zdebug_info"; "" if it has no valid name */
	uint32_t type;
	uint32_t index;
	uint32_t link;
	uint32_t info;
	uint64_t flags;
	uint64_t elf_addr;
	uint64_t size; /* in memory */
	uint64_t entry_size;
	struct bytes_view stored; /* its bytes in the file; none for SHT_NOBITS */
	bool gnu_compressed;      /* .zdebug_ */
	void *expanded;           /* anonymous pages with the expanded, relocated bytes, or NULL */
	size_t expanded_bytes;
};

struct elf_image_segment {
	uint32_t flags;
	uint64_t file_offset;
	uint64_t elf_addr;
	uint64_t file_bytes;
	uint64_t memory_bytes;
};

struct elf_image {
	struct bytes_view file;
	bool is_mapped; /* elf_image_open() mapped the file */
	bool is_64;
	bool relocatable;
	uint16_t machine;
	struct elf_image_section *sections;
	uint32_t n_sections;
	struct elf_image_segment *segments; /* PT_LOAD */
	uint32_t n_segments;
	uint64_t expanded_total;
	uint32_t text_index; /* index of .text in an object file, otherwise 0 */
	char *message;       /* the caller's buffer of SYMBOL_COMPILE_MESSAGE_SIZE bytes */
};

/*
 * Maps and checks the file. Errors: -ENOEXEC no ELF file, -ENOTSUP big-endian, -EBADMSG damaged,
 * -ENOMEM. On an error @message says why. The caller releases @image also after an error.
 */
int elf_image_open(struct elf_image *image, int fd, char *message);

/* Does the same for an ELF file in memory, which must outlive the image. */
int elf_image_open_memory(struct elf_image *image, struct bytes_view file, char *message);
void elf_image_release(struct elf_image *image);

/* Returns the first section of this name, or NULL. */
struct elf_image_section *elf_image_section(const struct elf_image *image, const char *name);

/*
 * Returns the contents of a section, expanded and relocated. They are empty if @section is NULL or
 * has no bytes in the file. Errors: -EBADMSG, -EFBIG (beyond DEBUG_EXPANDED_MAX_BYTES or
 * DEBUG_EXPANSION_MAX), -ENOMEM; image->message says which section.
 */
int elf_image_data(struct elf_image *image, struct elf_image_section *section,
		   struct bytes_view *ret_data);

/* Frees the expanded bytes of a section. The next elf_image_data() expands it again. */
void elf_image_forget(struct elf_image_section *section);

/*
 * Drops the mapped file's pages from our memory (MADV_DONTNEED); a later read faults them in again
 * from the page cache. Expanded sections stay.
 */
void elf_image_drop_pages(const struct elf_image *image);

/*
 * Returns the bytes in the file from @elf_addr to the end of its section; empty if no section has
 * them.
 */
struct bytes_view elf_image_at(struct elf_image *image, uint64_t elf_addr);

/*
 * Returns whether a section holds code. In object files only .text counts, because agents count
 * addresses from it.
 */
bool elf_image_is_code(const struct elf_image *image, const struct elf_image_section *section);

struct elf_image_symbol {
	const char *name;
	uint64_t value;
	uint64_t size;
	uint32_t section;
	uint8_t type;
	uint8_t binding;
};

/*
 * elf_image_symbols() checks the symbol table @section and returns the number of its symbols.
 * elf_image_symbol() may be called after it, with @index below that number; it returns -EBADMSG for
 * a symbol whose name lies outside of the string section.
 */
int elf_image_symbols(struct elf_image *image, struct elf_image_section *section,
		      uint32_t *ret_count);
int elf_image_symbol(struct elf_image *image, struct elf_image_section *section, uint32_t index,
		     struct elf_image_symbol *ret_symbol);

struct elf_image_relocation {
	uint64_t offset;
	uint32_t symbol;
	uint32_t type;
	int64_t addend;
};

/*
 * Reads entry @index of a SHT_RELA or SHT_REL section; entries of SHT_REL get addend 0. Returns 1,
 * or 0 beyond the last entry.
 */
int elf_image_relocation(const struct elf_image *image, const struct elf_image_section *section,
			 uint32_t index, struct elf_image_relocation *ret_relocation);

/* Finds the GNU build-ID in the file's notes; EXECUTABLE_ID_NONE if there is none. */
void elf_image_build_id(struct elf_image *image, struct executable_id *ret_id);

/*
 * elf_relocate.c: applies the relocations of object files to @data, the writable bytes of @section.
 */
int elf_image_relocate(struct elf_image *image, const struct elf_image_section *section,
		       uint8_t *data, size_t size);

/*
 * elf_expand.c: the size that a section expands to. Returns 1 for a compressed section, 0 for one
 * that is not compressed, -EBADMSG for a damaged header.
 */
int elf_section_expanded_size(const struct elf_image *image,
			      const struct elf_image_section *section, uint64_t *ret_size);

/*
 * Expands a compressed section into @to, which has the @size bytes of elf_section_expanded_size().
 */
int elf_section_expand(const struct elf_image *image, const struct elf_image_section *section,
		       uint8_t *to, size_t size);
