/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Most programs have a section for the table. Position-independent programs of linkers other than
 * Go's have it somewhere in .data.rel.ro, where it is found by its first bytes.
 */
#include "agent/unwind/go/go_file.h"

#include <elf.h>
#include <stdlib.h>

#include "agent/unwind/go/go_pclntab.h"
#include "common/file.h"
#include "common/scoped.h"

static const char *const own_sections[] = { ".gopclntab", ".data.rel.ro.gopclntab" };
static const char *const go_marks[] = { ".go.buildinfo", ".note.go.buildid" };

/* Go aligns the table to 32 bytes, since 1.26 to 16. */
#define TABLE_ALIGNMENT 16

#define PIECE_BYTES ((size_t)(64 * KIB))

/* A program of 75 MB has 20 MiB. */
#define MAX_SEARCHED_BYTES (256 * MIB)

/* Offset of moduledata.text, after seven slices and pointers. Valid since Go 1.16. */
#define MODULEDATA_TEXT       176
#define MODULEDATA_READ_BYTES (MODULEDATA_TEXT + 8)

static bool is_code(const struct elf_file *elf, uint64_t vaddr)
{
	for (size_t i = 0; i < elf->n_load_segments; i++) {
		const struct load_segment *segment = &elf->load_segments[i];

		if (segment->flags & PF_X && vaddr >= segment->vaddr &&
		    vaddr - segment->vaddr < segment->memory_size)
			return true;
	}
	return false;
}

static uint64_t u64_at(const uint8_t *bytes)
{
	uint64_t value;

	memcpy(&value, bytes, sizeof(value));
	return value;
}

/*
 * Since Go 1.26 the start of text is in the moduledata. A program without .go.module was linked by
 * Go's own linker, and it is the address of .text.
 */
static int text_start_of_module(const struct elf_file *elf, uint64_t pclntab_vaddr,
				uint64_t *ret_text_start)
{
	const struct elf_section *module = elf_file_section(elf, ".go.module");
	const struct elf_section *text = elf_file_section(elf, ".text");
	uint8_t content[MODULEDATA_READ_BYTES];
	int r;

	*ret_text_start = text ? text->vaddr : 0;
	if (!module || module->type == SHT_NOBITS || module->size < sizeof(content))
		return 0;
	r = pread_all(elf->fd, content, sizeof(content), module->file_offset);
	if (r == 0 && u64_at(content) == pclntab_vaddr)
		*ret_text_start = u64_at(content + MODULEDATA_TEXT);
	return r;
}

/* 1; 0: no supported table begins at @offset in @section; negative errno. */
static int read_table_at(const struct elf_file *elf, const struct elf_section *section,
			 uint64_t offset, struct go_file *ret_file)
{
	uint8_t bytes[GO_PCLNTAB_HEADER_BYTES];
	struct go_pclntab_header header;
	struct go_file file = {
		.pclntab = BYTE_WINDOW_OF_FILE(elf->fd, section->file_offset + offset,
					       section->size - offset),
		.pclntab_vaddr = section->vaddr + offset,
	};
	int r;

	if (section->size - offset < sizeof(bytes))
		return 0;
	r = pread_all(elf->fd, bytes, sizeof(bytes), file.pclntab.file_offset);
	if (r < 0 || !go_pclntab_header_read(bytes, &header))
		return r;
	file.text_start = header.text_start;
	if (header.version != GO_PCLNTAB_1_16 && file.text_start == 0) {
		r = text_start_of_module(elf, file.pclntab_vaddr, &file.text_start);
		if (r < 0)
			return r;
	}
	if (header.version != GO_PCLNTAB_1_16 && !is_code(elf, file.text_start))
		return 0;
	*ret_file = file;
	return 1;
}

static int search_section(const struct elf_file *elf, const struct elf_section *section,
			  struct go_file *ret_file)
{
	scoped_free uint8_t *piece = malloc(PIECE_BYTES);
	uint64_t end = MIN(section->size, (uint64_t)MAX_SEARCHED_BYTES);
	enum go_pclntab_version version;
	int r = 0;

	if (!piece)
		return -ENOMEM;
	for (uint64_t offset = 0; offset < end && r == 0; offset += PIECE_BYTES) {
		size_t size = (size_t)MIN((uint64_t)PIECE_BYTES, end - offset);
		/* From the first offset that is aligned in memory. */
		size_t at = (size_t)(-(section->vaddr + offset) % TABLE_ALIGNMENT);

		r = pread_all(elf->fd, piece, size, section->file_offset + offset);
		for (; r == 0 && at + 8 <= size; at += TABLE_ALIGNMENT)
			if (go_pclntab_magic_read(piece + at, &version))
				r = read_table_at(elf, section, offset + at, ret_file);
	}
	return r;
}

static bool is_in_file(const struct elf_file *elf, const struct elf_section *section)
{
	return section->type != SHT_NOBITS && section->file_offset <= elf->file_size &&
	       section->size <= elf->file_size - section->file_offset;
}

static bool is_go_program(const struct elf_file *elf)
{
	for (size_t i = 0; i < ARRAY_SIZE(go_marks); i++)
		if (elf_file_section(elf, go_marks[i]))
			return true;
	return false;
}

int go_file_find(const struct elf_file *elf, struct go_file *ret_file)
{
	const struct elf_section *section;

	for (size_t i = 0; i < ARRAY_SIZE(own_sections); i++) {
		section = elf_file_section(elf, own_sections[i]);
		if (section && is_in_file(elf, section))
			return read_table_at(elf, section, 0, ret_file);
	}
	section = elf_file_section(elf, ".data.rel.ro");
	if (!section || !is_in_file(elf, section) || !is_go_program(elf))
		return 0;
	return search_section(elf, section, ret_file);
}
