/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/symbols/elf/elf_image.h"

#include <elf.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "common/elf/build_id.h"
#include "symbolizer/symbols/symbol_limits.h"

static int refuse(const struct elf_image *image, int error, const char *what, const char *section)
{
	snprintf(image->message, SYMBOL_COMPILE_MESSAGE_SIZE, "%s (section '%.60s')", what,
		 section);
	return error;
}

/* Headers of 32-bit files have the same fields, narrower. They are widened to the 64-bit form. */
static Elf64_Shdr section_header(const struct elf_image *image, const uint8_t *from)
{
	Elf64_Shdr wide;
	Elf32_Shdr narrow;

	if (image->is_64) {
		memcpy(&wide, from, sizeof(wide));
		return wide;
	}
	memcpy(&narrow, from, sizeof(narrow));
	return (Elf64_Shdr){
		.sh_name = narrow.sh_name,
		.sh_type = narrow.sh_type,
		.sh_flags = narrow.sh_flags,
		.sh_addr = narrow.sh_addr,
		.sh_offset = narrow.sh_offset,
		.sh_size = narrow.sh_size,
		.sh_link = narrow.sh_link,
		.sh_info = narrow.sh_info,
		.sh_addralign = narrow.sh_addralign,
		.sh_entsize = narrow.sh_entsize,
	};
}

static Elf64_Ehdr file_header(const struct elf_image *image)
{
	Elf64_Ehdr wide = {};
	Elf32_Ehdr narrow;

	if (image->is_64) {
		memcpy(&wide, image->file.data, sizeof(wide));
		return wide;
	}
	memcpy(&narrow, image->file.data, sizeof(narrow));
	return (Elf64_Ehdr){
		.e_type = narrow.e_type,
		.e_machine = narrow.e_machine,
		.e_phoff = narrow.e_phoff,
		.e_shoff = narrow.e_shoff,
		.e_phentsize = narrow.e_phentsize,
		.e_phnum = narrow.e_phnum,
		.e_shentsize = narrow.e_shentsize,
		.e_shnum = narrow.e_shnum,
		.e_shstrndx = narrow.e_shstrndx,
	};
}

static Elf64_Phdr program_header(const struct elf_image *image, const uint8_t *from)
{
	Elf64_Phdr wide;
	Elf32_Phdr narrow;

	if (image->is_64) {
		memcpy(&wide, from, sizeof(wide));
		return wide;
	}
	memcpy(&narrow, from, sizeof(narrow));
	return (Elf64_Phdr){
		.p_type = narrow.p_type,
		.p_flags = narrow.p_flags,
		.p_offset = narrow.p_offset,
		.p_vaddr = narrow.p_vaddr,
		.p_filesz = narrow.p_filesz,
		.p_memsz = narrow.p_memsz,
	};
}

static bool is_within(const struct elf_image *image, uint64_t offset, uint64_t size)
{
	return offset <= image->file.size && size <= image->file.size - offset;
}

/*
 * Returns the string at @offset of a string section, or NULL if no NUL ends it within the section.
 */
static const char *text_at(struct bytes_view texts, uint64_t offset)
{
	if (offset >= texts.size || !memchr(texts.data + offset, '\0', texts.size - offset))
		return NULL;
	return (const char *)texts.data + offset;
}

static int read_section(struct elf_image *image, const Elf64_Shdr *header, uint32_t index,
			struct bytes_view names)
{
	struct elf_image_section *section = &image->sections[index];
	const char *name = text_at(names, header->sh_name);

	if (!name)
		name = "";
	*section = (struct elf_image_section){
		.name = name,
		.type = header->sh_type,
		.index = index,
		.link = header->sh_link,
		.info = header->sh_info,
		.flags = header->sh_flags,
		.elf_addr = header->sh_addr,
		.size = header->sh_size,
		.entry_size = header->sh_entsize,
		.gnu_compressed = strncmp(name, ".zdebug_", 8) == 0,
	};
	if (header->sh_type == SHT_NOBITS || header->sh_type == SHT_NULL)
		return 0;
	if (!is_within(image, header->sh_offset, header->sh_size))
		return refuse(image, -EBADMSG, "a section lies beyond the end of the file", name);
	section->stored = (struct bytes_view){ image->file.data + header->sh_offset,
					       (size_t)header->sh_size };
	if ((header->sh_flags & SHF_ALLOC) && header->sh_addr > UINT64_MAX - header->sh_size)
		return refuse(image, -EBADMSG, "a section wraps around the address space", name);
	return 0;
}

static int read_sections(struct elf_image *image, const Elf64_Ehdr *header)
{
	const size_t entry = image->is_64 ? sizeof(Elf64_Shdr) : sizeof(Elf32_Shdr);
	struct bytes_view names = {};
	const uint8_t *table;

	if (header->e_shoff == 0 || header->e_shnum == 0)
		return 0;
	if (header->e_shentsize != entry ||
	    !is_within(image, header->e_shoff, (uint64_t)entry * header->e_shnum))
		return refuse(image, -EBADMSG, "the file is truncated", "section table");
	table = image->file.data + header->e_shoff;
	image->sections = calloc(header->e_shnum, sizeof(*image->sections));
	if (!image->sections)
		return -ENOMEM;
	image->n_sections = header->e_shnum;

	if (header->e_shstrndx < header->e_shnum) {
		Elf64_Shdr texts = section_header(image, table + entry * header->e_shstrndx);

		if (texts.sh_type != SHT_NOBITS && is_within(image, texts.sh_offset, texts.sh_size))
			names = (struct bytes_view){ image->file.data + texts.sh_offset,
						     (size_t)texts.sh_size };
	}
	for (uint32_t i = 0; i < image->n_sections; i++) {
		Elf64_Shdr section = section_header(image, table + entry * i);
		int r = read_section(image, &section, i, names);

		if (r < 0)
			return r;
		if (image->relocatable && image->text_index == 0 &&
		    strcmp(image->sections[i].name, ".text") == 0)
			image->text_index = i;
	}
	return 0;
}

static int read_segments(struct elf_image *image, const Elf64_Ehdr *header)
{
	const size_t entry = image->is_64 ? sizeof(Elf64_Phdr) : sizeof(Elf32_Phdr);

	if (header->e_phnum == 0)
		return 0;
	if (header->e_phentsize != entry ||
	    !is_within(image, header->e_phoff, (uint64_t)entry * header->e_phnum))
		return refuse(image, -EBADMSG, "the file is truncated", "program headers");
	image->segments = calloc(header->e_phnum, sizeof(*image->segments));
	if (!image->segments)
		return -ENOMEM;
	for (uint32_t i = 0; i < header->e_phnum; i++) {
		Elf64_Phdr segment =
			program_header(image, image->file.data + header->e_phoff + entry * i);

		if (segment.p_type != PT_LOAD || segment.p_vaddr > UINT64_MAX - segment.p_memsz)
			continue;
		image->segments[image->n_segments++] = (struct elf_image_segment){
			.flags = segment.p_flags,
			.file_offset = segment.p_offset,
			.elf_addr = segment.p_vaddr,
			.file_bytes = segment.p_filesz,
			.memory_bytes = segment.p_memsz,
		};
	}
	return 0;
}

int elf_image_open_memory(struct elf_image *image, struct bytes_view file, char *message)
{
	const unsigned char *ident = file.data;
	Elf64_Ehdr header;
	int r;

	if (!image->is_mapped)
		*image = (struct elf_image){};
	image->file = file;
	image->message = message;
	if (file.size < sizeof(Elf32_Ehdr) || memcmp(ident, ELFMAG, SELFMAG) != 0)
		return refuse(image, -ENOEXEC, "no ELF file", "?");
	if (ident[EI_DATA] != ELFDATA2LSB)
		return refuse(image, -ENOTSUP, "big-endian files are not read", "?");
	image->is_64 = ident[EI_CLASS] == ELFCLASS64;
	if (file.size < (image->is_64 ? sizeof(Elf64_Ehdr) : sizeof(Elf32_Ehdr)))
		return refuse(image, -ENOEXEC, "no ELF file", "?");

	header = file_header(image);
	image->machine = header.e_machine;
	image->relocatable = header.e_type == ET_REL;
	r = read_sections(image, &header);
	return r < 0 ? r : read_segments(image, &header);
}

int elf_image_open(struct elf_image *image, int fd, char *message)
{
	struct stat status;
	void *map;

	*image = (struct elf_image){ .message = message };
	if (fstat(fd, &status) < 0)
		return -errno;
	if (status.st_size <= 0)
		return refuse(image, -ENOEXEC, "no ELF file", "?");
	map = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (map == MAP_FAILED)
		return -errno;
	image->is_mapped = true;
	return elf_image_open_memory(image, (struct bytes_view){ map, (size_t)status.st_size },
				     message);
}

void elf_image_forget(struct elf_image_section *section)
{
	if (section && section->expanded) {
		(void)munmap(section->expanded, section->expanded_bytes);
		section->expanded = NULL;
	}
}

void elf_image_drop_pages(const struct elf_image *image)
{
	if (image->is_mapped)
		(void)madvise((void *)image->file.data, image->file.size, MADV_DONTNEED);
}

void elf_image_release(struct elf_image *image)
{
	for (uint32_t i = 0; i < image->n_sections; i++)
		elf_image_forget(&image->sections[i]);
	free(image->sections);
	free(image->segments);
	if (image->is_mapped)
		(void)munmap((void *)image->file.data, image->file.size);
	*image = (struct elf_image){};
}

struct elf_image_section *elf_image_section(const struct elf_image *image, const char *name)
{
	for (uint32_t i = 0; i < image->n_sections; i++) {
		const char *found = image->sections[i].name;

		if (strcmp(found, name) == 0)
			return &image->sections[i];
		/* ".zdebug_info" is ".debug_info". */
		if (image->sections[i].gnu_compressed && name[0] == '.' &&
		    strcmp(found + 2, name + 1) == 0)
			return &image->sections[i];
	}
	return NULL;
}

static bool needs_relocation(const struct elf_image *image, const struct elf_image_section *section)
{
	if (!image->relocatable || (section->flags & SHF_ALLOC))
		return false;
	for (uint32_t i = 0; i < image->n_sections; i++) {
		if ((image->sections[i].type == SHT_RELA || image->sections[i].type == SHT_REL) &&
		    image->sections[i].info == section->index)
			return true;
	}
	return false;
}

/* Makes section->expanded: the section's bytes, expanded and relocated. */
static int make_pages(struct elf_image *image, struct elf_image_section *section, size_t size,
		      bool is_compressed)
{
	void *pages = mmap(NULL, MAX(size, (size_t)1), PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int r = 0;

	if (pages == MAP_FAILED)
		return -ENOMEM;
	if (is_compressed)
		r = elf_section_expand(image, section, pages, size);
	else if (size > 0)
		memcpy(pages, section->stored.data, size);
	if (r == 0 && image->relocatable)
		r = elf_image_relocate(image, section, pages, size);
	if (r < 0) {
		(void)munmap(pages, MAX(size, (size_t)1));
		return refuse(image, r, "a compressed or relocated section is damaged",
			      section->name);
	}
	section->expanded = pages;
	section->expanded_bytes = MAX(size, (size_t)1);
	return 0;
}

int elf_image_data(struct elf_image *image, struct elf_image_section *section,
		   struct bytes_view *ret_data)
{
	bool is_compressed;
	uint64_t size;
	int r;

	*ret_data = (struct bytes_view){};
	if (!section || section->type == SHT_NOBITS)
		return 0;
	r = elf_section_expanded_size(image, section, &size);
	if (r < 0)
		return refuse(image, r, "a compression header is damaged", section->name);
	is_compressed = r > 0;
	if (!section->expanded && (is_compressed || needs_relocation(image, section))) {
		if (size / DEBUG_EXPANSION_MAX > section->stored.size)
			return refuse(image, -EFBIG, "a section expands by an implausible factor",
				      section->name);
		if (size > DEBUG_EXPANDED_MAX_BYTES - image->expanded_total)
			return refuse(image, -EFBIG, "the debug sections expand beyond the limit",
				      section->name);
		r = make_pages(image, section, (size_t)size, is_compressed);
		if (r < 0)
			return r;
		image->expanded_total += size;
	}
	*ret_data = section->expanded ? (struct bytes_view){ section->expanded, (size_t)size }
				      : section->stored;
	return 0;
}

struct bytes_view elf_image_at(struct elf_image *image, uint64_t elf_addr)
{
	for (uint32_t i = 0; i < image->n_sections; i++) {
		const struct elf_image_section *section = &image->sections[i];

		if ((section->flags & SHF_ALLOC) && elf_addr >= section->elf_addr &&
		    elf_addr - section->elf_addr < section->stored.size) {
			uint64_t skip = elf_addr - section->elf_addr;

			return (struct bytes_view){ section->stored.data + skip,
						    section->stored.size - (size_t)skip };
		}
	}
	return (struct bytes_view){};
}

bool elf_image_is_code(const struct elf_image *image, const struct elf_image_section *section)
{
	const uint64_t wanted = SHF_ALLOC | SHF_EXECINSTR;

	/* In an object file every section starts at address 0. */
	if (image->relocatable && section->index != image->text_index)
		return false;
	return (section->flags & wanted) == wanted && section->size > 0 &&
	       section->elf_addr <= UINT64_MAX - section->size;
}

int elf_image_symbols(struct elf_image *image, struct elf_image_section *section,
		      uint32_t *ret_count)
{
	const size_t entry = image->is_64 ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym);
	struct bytes_view data;
	int r = elf_image_data(image, section, &data);

	if (r < 0)
		return r;
	if (section->link >= image->n_sections || data.size / entry > UINT32_MAX)
		return refuse(image, -EBADMSG, "a symbol table is damaged", section->name);
	*ret_count = (uint32_t)(data.size / entry);
	return 0;
}

int elf_image_symbol(struct elf_image *image, struct elf_image_section *section, uint32_t index,
		     struct elf_image_symbol *ret_symbol)
{
	struct elf_image_section *texts = &image->sections[section->link];
	struct bytes_view data = section->expanded ? (struct bytes_view){ section->expanded,
									  section->expanded_bytes }
						   : section->stored;
	Elf64_Sym symbol;
	Elf32_Sym narrow;

	if (image->is_64) {
		memcpy(&symbol, data.data + index * sizeof(symbol), sizeof(symbol));
	} else {
		memcpy(&narrow, data.data + index * sizeof(narrow), sizeof(narrow));
		symbol = (Elf64_Sym){
			.st_name = narrow.st_name,
			.st_info = narrow.st_info,
			.st_shndx = narrow.st_shndx,
			.st_value = narrow.st_value,
			.st_size = narrow.st_size,
		};
	}
	*ret_symbol = (struct elf_image_symbol){
		.name = text_at(texts->stored, symbol.st_name),
		.value = symbol.st_value,
		.size = symbol.st_size,
		.section = symbol.st_shndx,
		.type = ELF64_ST_TYPE(symbol.st_info),
		.binding = ELF64_ST_BIND(symbol.st_info),
	};
	return ret_symbol->name ? 0 : -EBADMSG;
}

int elf_image_relocation(const struct elf_image *image, const struct elf_image_section *section,
			 uint32_t index, struct elf_image_relocation *ret_relocation)
{
	const bool has_addend = section->type == SHT_RELA;
	const size_t entry = image->is_64 ? (has_addend ? sizeof(Elf64_Rela) : sizeof(Elf64_Rel))
					  : (has_addend ? sizeof(Elf32_Rela) : sizeof(Elf32_Rel));
	const uint8_t *from;

	if (index >= section->stored.size / entry)
		return 0;
	from = section->stored.data + index * entry;
	if (image->is_64) {
		Elf64_Rela wide = {};

		memcpy(&wide, from, entry);
		*ret_relocation = (struct elf_image_relocation){
			.offset = wide.r_offset,
			.symbol = (uint32_t)ELF64_R_SYM(wide.r_info),
			.type = (uint32_t)ELF64_R_TYPE(wide.r_info),
			.addend = wide.r_addend,
		};
	} else {
		Elf32_Rela narrow = {};

		memcpy(&narrow, from, entry);
		*ret_relocation = (struct elf_image_relocation){
			.offset = narrow.r_offset,
			.symbol = ELF32_R_SYM(narrow.r_info),
			.type = ELF32_R_TYPE(narrow.r_info),
			.addend = narrow.r_addend,
		};
	}
	return 1;
}

void elf_image_build_id(struct elf_image *image, struct executable_id *ret_id)
{
	*ret_id = (struct executable_id){};
	for (uint32_t i = 0; i < image->n_sections; i++) {
		if (image->sections[i].type == SHT_NOTE &&
		    build_id_from_notes(image->sections[i].stored, ret_id) == 1 &&
		    ret_id->kind == EXECUTABLE_ID_GNU)
			return;
	}
}
