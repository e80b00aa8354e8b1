/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * An ELF file with its sections as the reader of symbols and DWARF wants them: mapped, expanded
 * when they are compressed (zlib, zstd, GNU's .zdebug), relocated when they belong to an object
 * file (a kernel module). 32 and 64 bits, little-endian. Everything a section says of itself is
 * checked when the file is opened; bytes are expanded when they are asked for.
 *
 * Owned by one thread. Format: System V gABI, "ELF Header", "Sections", "Section Compression".
 */

#include "common/bytes.h"
#include "common/executable_id.h"
#include "common/scoped.h"

struct elf_image_section {
	const char *name; /* without the z of .zdebug_ */
	uint32_t type;
	uint32_t index;
	uint32_t link;
	uint32_t info;
	uint64_t flags;
	uint64_t elf_addr;
	uint64_t size; /* in memory */
	uint64_t entry_size;
	struct bytes_view stored; /* the file's bytes; none for SHT_NOBITS */
	bool gnu_compressed;
	void *expanded; /* own pages, or NULL */
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
	bool is_mapped; /* by us */
	bool is_64;
	bool relocatable;
	uint16_t machine;
	struct elf_image_section *sections;
	uint32_t n_sections;
	struct elf_image_segment *segments; /* PT_LOAD */
	uint32_t n_segments;
	uint64_t expanded_total;
	uint32_t text_index; /* of .text in an object file */
	char *message;       /* [SYMBOL_COMPILE_MESSAGE_SIZE] of the caller */
};

/* Release also after an error. -ENOEXEC no ELF file, -ENOTSUP, -EBADMSG, -ENOMEM. */
int elf_image_open(struct elf_image *image, int fd, char *message);

/* Over memory that outlives the image. */
int elf_image_open_memory(struct elf_image *image, struct bytes_view file, char *message);
void elf_image_release(struct elf_image *image);

/* The first section of this name, or NULL. */
struct elf_image_section *elf_image_section(const struct elf_image *image, const char *name);

/*
 * The bytes of a section, expanded; empty for NULL and for sections without contents. -EBADMSG,
 * -EFBIG (beyond DEBUG_EXPANDED_MAX_BYTES or DEBUG_EXPANSION_MAX), -ENOMEM; the message says which.
 */
int elf_image_data(struct elf_image *image, struct elf_image_section *section,
		   struct bytes_view *ret_data);

/* Gives the expanded bytes of a section back; later it expands anew. */
void elf_image_forget(struct elf_image_section *section);

/*
 * Lets go of the memory of the mapped file, which comes back from the page cache where it is read
 * again. What was expanded stays.
 */
void elf_image_drop_pages(const struct elf_image *image);

/* The bytes at @elf_addr to the end of their segment or section, or an empty view. */
struct bytes_view elf_image_at(struct elf_image *image, uint64_t elf_addr);

/* Whether it is code; of object files only .text counts, because addresses are relative to it. */
bool elf_image_is_code(const struct elf_image *image, const struct elf_image_section *section);

struct elf_image_symbol {
	const char *name;
	uint64_t value;
	uint64_t size;
	uint32_t section;
	uint8_t type;
	uint8_t binding;
};

/* How many symbols the table of @section has, and one of them. -EBADMSG. */
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

/* Entry @index of a SHT_RELA (or SHT_REL: addend 0) section. 1 there, 0 beyond the end. */
int elf_image_relocation(const struct elf_image *image, const struct elf_image_section *section,
			 uint32_t index, struct elf_image_relocation *ret_relocation);

/* The build-ID of its notes, or EXECUTABLE_ID_NONE. */
void elf_image_build_id(struct elf_image *image, struct executable_id *ret_id);

/*
 * elf_relocate.c: applies the relocations of object files to @data, the writable bytes of @section.
 */
int elf_image_relocate(struct elf_image *image, const struct elf_image_section *section,
		       uint8_t *data, size_t size);

/* elf_expand.c: what a compressed section expands to. 1 compressed, 0 not, -EBADMSG. */
int elf_section_expanded_size(const struct elf_image *image,
			      const struct elf_image_section *section, uint64_t *ret_size);
int elf_section_expand(const struct elf_image *image, const struct elf_image_section *section,
		       uint8_t *to, size_t size);
