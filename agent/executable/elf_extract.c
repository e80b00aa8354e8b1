/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The extract is a list of ranges. Each range is taken either from memory or from the original
 * file: headers, the kept sections in order of their numbers (with padding between them), section
 * headers.
 */
#include "agent/executable/elf_extract.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "common/bytes.h"
#include "common/elf/elf_file.h"
#include "common/elf/richness.h"
#include "common/pieced_file.h"
#include "common/vec.h"
/* elf_file_open() refuses a file with more bytes of headers. */
#define MAX_HEADERS_BYTES (16 * MIB)

/* The header, program headers and section headers, and padding before each of the sections. */
#define MAX_MEMORY_BYTES ((size_t)(4 * MAX_HEADERS_BYTES))

/*
 * Tables and notes need an alignment of 4 to 16. Alignment to pages serves only loading, and nobody
 * loads the extract. A hostile file could use it to get a page of padding for each tiny section.
 */
#define MAX_ALIGNMENT 64

VEC_DEFINE(range_vec, struct pieced_range);

struct elf_extract {
	struct range_vec ranges;
	struct bytes memory; /* the bytes of ranges that are not taken from the original */
	uint64_t size;
	Elf64_Ehdr header;
	Elf64_Shdr *sections;
	size_t n_sections;
};

static const uint8_t zeros[MAX_ALIGNMENT];

struct section_rule {
	const char *name; /* ends in '*': a prefix */
	uint32_t what;    /* EXTRACT_SYMBOLS: in both kinds of extract */
};

static const struct section_rule rules[] = {
	{ ".symtab", EXTRACT_SYMBOLS },
	{ ".symtab_shndx", EXTRACT_SYMBOLS },
	{ ".strtab", EXTRACT_SYMBOLS },
	{ ".dynsym", EXTRACT_SYMBOLS },
	{ ".dynstr", EXTRACT_SYMBOLS },
	{ ".gopclntab", EXTRACT_SYMBOLS },
	{ ".gosymtab", EXTRACT_SYMBOLS },
	/* Position-independent Go programs keep theirs here. */
	{ ".data.rel.ro.gopclntab", EXTRACT_SYMBOLS },
	{ ".data.rel.ro.gosymtab", EXTRACT_SYMBOLS },
	{ ".note*", EXTRACT_SYMBOLS }, /* the vDSO has a plain ".note" */
	{ ".gnu_debuglink", EXTRACT_SYMBOLS },
	{ ".gnu_debugdata", EXTRACT_SYMBOLS },
	{ ".gnu_debugaltlink", EXTRACT_DEBUG },
	{ ".debug_*", EXTRACT_DEBUG },
	{ ".zdebug_*", EXTRACT_DEBUG },
};

static bool name_matches(const char *pattern, const char *name)
{
	size_t length = strlen(pattern);

	if (pattern[length - 1] == '*')
		return strncmp(pattern, name, length - 1) == 0;
	return strcmp(pattern, name) == 0;
}

/* .eh_frame shows where nameless functions begin. A full symbol table makes that unnecessary. */
static bool needs_unwind_section(const struct elf_file *elf, const struct elf_section *section)
{
	return strcmp(section->name, ".eh_frame") == 0 &&
	       !elf_section_has_contents(elf_file_section(elf, ".symtab")) &&
	       !elf_section_has_contents(elf_file_section(elf, ".gnu_debugdata"));
}

static bool is_requested(const struct elf_file *elf, const struct elf_section *section,
			 uint32_t what)
{
	if (section->type == SHT_NOBITS || section->type == SHT_NULL)
		return false;
	if (needs_unwind_section(elf, section))
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(rules); i++)
		if (rules[i].what <= what && name_matches(rules[i].name, section->name))
			return true;
	return false;
}

static bool is_in_file(const struct elf_file *elf, const struct elf_section *section)
{
	return section->file_offset <= elf->file_size &&
	       section->size <= elf->file_size - section->file_offset;
}

static int add_range(struct elf_extract *extract, const struct pieced_range *range)
{
	int r;

	/* An empty section. */
	if (range->size == 0)
		return 0;
	r = vec_push(&extract->ranges, *range);
	if (r < 0)
		return r;
	extract->size += range->size;
	return 0;
}

static int add_memory(struct elf_extract *extract, const void *memory, size_t size)
{
	const struct pieced_range range = { .size = size, .offset = extract->memory.size };
	int r;

	if (size == 0)
		return 0;
	r = bytes_append(&extract->memory, memory, size);
	return r < 0 ? r : add_range(extract, &range);
}

static int align(struct elf_extract *extract, uint64_t alignment)
{
	uint64_t padding;

	if (alignment < 2 || alignment > MAX_ALIGNMENT || (alignment & (alignment - 1)) != 0)
		return 0;
	padding = ROUND_UP(extract->size, alignment) - extract->size;
	return add_memory(extract, zeros, padding);
}

static size_t index_of_names(const struct elf_file *elf, const Elf64_Ehdr *header)
{
	return header->e_shstrndx == SHN_XINDEX ? elf->sections[0].link : header->e_shstrndx;
}

static Elf64_Shdr section_header(const struct elf_file *elf, const struct elf_section *section)
{
	return (Elf64_Shdr){
		.sh_name = (Elf64_Word)(section->name - elf->section_names),
		.sh_type = section->type,
		.sh_flags = section->flags,
		.sh_addr = section->vaddr,
		.sh_size = section->size,
		.sh_link = section->link,
		.sh_info = section->info,
		.sh_addralign = section->alignment,
		.sh_entsize = section->entry_size,
	};
}

static int add_kept_section(struct elf_extract *extract, const struct elf_section *section,
			    Elf64_Shdr *header)
{
	int r;

	r = align(extract, section->alignment);
	if (r < 0)
		return r;
	header->sh_offset = extract->size;
	return add_range(extract, &(struct pieced_range){ .size = section->size,
							  .offset = section->file_offset,
							  .of_source = 1 });
}

/* Loaded sections keep address and size. Of the others only the section number is needed. */
static void empty_section(const struct elf_extract *extract, Elf64_Shdr *header)
{
	header->sh_type = SHT_NOBITS;
	header->sh_offset = extract->size;
	header->sh_flags &= ~(Elf64_Xword)SHF_COMPRESSED;
	if (!(header->sh_flags & SHF_ALLOC))
		header->sh_size = 0;
}

static int add_sections(struct elf_extract *extract, const struct elf_file *elf, uint32_t what)
{
	size_t names = index_of_names(elf, &extract->header);
	uint64_t content = 0;
	bool names_code = false;

	/* Section 0 has no content; its fields hold what the header has no room for. */
	extract->sections[0] = section_header(elf, &elf->sections[0]);
	for (size_t i = 1; i < elf->n_sections; i++) {
		const struct elf_section *section = &elf->sections[i];
		Elf64_Shdr *header = &extract->sections[i];
		bool wanted = is_requested(elf, section, what) && is_in_file(elf, section);
		int r;

		*header = section_header(elf, section);
		if (!wanted && i != names) {
			if (section->type != SHT_NULL)
				empty_section(extract, header);
			continue;
		}
		r = add_kept_section(extract, section, header);
		if (r < 0)
			return r;
		names_code = names_code || (wanted && section->type != SHT_NOTE);
		/* Without overlaps the kept sections together are no larger than the file. */
		if (section->size > elf->file_size - content)
			return -EBADMSG;
		content += section->size;
	}
	return names_code ? 0 : -ENODATA;
}

/* plan() completes the header and then writes it again over this first copy. */
static int copy_headers(struct elf_extract *extract, const struct elf_file *elf)
{
	size_t size = elf->n_program_headers * sizeof(Elf64_Phdr);
	int r;

	if (size > MAX_HEADERS_BYTES)
		return -EBADMSG;
	memcpy(&extract->header, elf->header, sizeof(extract->header));
	extract->n_sections = elf->n_sections;
	extract->sections = calloc(elf->n_sections, sizeof(*extract->sections));
	if (!extract->sections)
		return -ENOMEM;
	extract->header.e_phoff = elf->n_program_headers ? sizeof(Elf64_Ehdr) : 0;
	extract->header.e_ehsize = sizeof(Elf64_Ehdr);
	r = add_memory(extract, &extract->header, sizeof(extract->header));
	return r < 0 ? r : add_memory(extract, elf->program_headers, size);
}

static int plan(struct elf_extract *extract, const struct elf_file *elf, uint32_t what)
{
	int r;

	if (elf->n_sections < 2)
		return -ENODATA;
	r = copy_headers(extract, elf);
	if (r < 0)
		return r;
	r = add_sections(extract, elf, what);
	if (r < 0)
		return r;
	r = align(extract, sizeof(uint64_t));
	if (r < 0)
		return r;
	extract->header.e_shoff = extract->size;
	extract->header.e_shentsize = sizeof(Elf64_Shdr);
	memcpy(extract->memory.data, &extract->header, sizeof(extract->header));
	return add_memory(extract, extract->sections,
			  extract->n_sections * sizeof(*extract->sections));
}

static void extract_release(struct elf_extract *extract)
{
	vec_release(&extract->ranges);
	bytes_release(&extract->memory);
	free(extract->sections);
}

int elf_extract_write(int fd, uint32_t what, int out_fd)
{
	const struct bytes no_memory = BYTES_INIT(MAX_MEMORY_BYTES);
	scoped(extract_release) struct elf_extract extract = { .memory = no_memory };
	scoped(elf_file_freep) struct elf_file *elf = NULL;
	int r;

	r = elf_file_open(fd, &elf);
	if (r < 0)
		return r;
	r = plan(&extract, elf, what);
	if (r < 0)
		return r;
	return pieced_file_write(out_fd, extract.ranges.items, extract.ranges.count,
				 extract.memory.data, extract.memory.size);
}
