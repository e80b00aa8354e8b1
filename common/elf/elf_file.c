/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel loads a file by its program headers, so a file with bad ones does not open. Running
 * code does not need the section headers, which sstrip and packers remove or damage: a file with
 * bad ones opens without sections, unless it also has no program headers (a relocatable object).
 */

#include "common/elf/elf_file.h"

#include <elf.h>
#include <sys/stat.h>

#include "common/elf/elf32.h"
#include "common/file.h"
#include "common/scoped.h"

/* Linkers write fewer than a hundred. e_phnum is at most 65534; 65535 is PN_XNUM. */
#define MAX_PROGRAM_HEADERS 65536

/* Objects built with -ffunction-sections have tens of thousands. */
#define MAX_SECTIONS 65536

/* 256 bytes for each of 65536 names, far more than any linker writes. */
#define MAX_SECTION_NAMES_BYTES (16 * MIB)

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "headers are copied, not converted");
static_assert(sizeof(((struct elf_file *)0)->header) == sizeof(Elf64_Ehdr), "holds an Elf64_Ehdr");

static bool is_in_file(const struct elf_file *elf, uint64_t offset, uint64_t size)
{
	return offset <= elf->file_size && size <= elf->file_size - offset;
}

static int read_header(struct elf_file *elf, bool any_class, Elf64_Ehdr *ret_header)
{
	union {
		Elf64_Ehdr wide;
		Elf32_Ehdr narrow;
	} raw = {};
	Elf64_Ehdr header;
	int r;

	r = pread_all(elf->fd, &raw, MIN(elf->file_size, sizeof(raw)), 0);
	if (r < 0)
		return r;
	if (memcmp(raw.wide.e_ident, ELFMAG, SELFMAG) != 0)
		return -ENOEXEC;
	elf->is_32_bit = any_class && raw.wide.e_ident[EI_CLASS] == ELFCLASS32;
	if (elf->file_size < (elf->is_32_bit ? sizeof(raw.narrow) : sizeof(raw.wide)))
		return -ENODATA;
	if ((!elf->is_32_bit && raw.wide.e_ident[EI_CLASS] != ELFCLASS64) ||
	    raw.wide.e_ident[EI_DATA] != ELFDATA2LSB)
		return -ENOTSUP;
	header = elf->is_32_bit ? elf32_header(&raw.narrow) : raw.wide;

	memcpy(elf->header, &header, sizeof(header));
	elf->type = header.e_type;
	elf->machine = header.e_machine;
	elf->entry = header.e_entry;
	*ret_header = header;
	return 0;
}

static size_t section_header_size(const struct elf_file *elf)
{
	return elf->is_32_bit ? sizeof(Elf32_Shdr) : sizeof(Elf64_Shdr);
}

static int read_section_header(const struct elf_file *elf, uint64_t offset, Elf64_Shdr *ret_section)
{
	Elf32_Shdr narrow;
	int r;

	if (!elf->is_32_bit)
		return pread_all(elf->fd, ret_section, sizeof(*ret_section), offset);
	r = pread_all(elf->fd, &narrow, sizeof(narrow), offset);
	if (r < 0)
		return r;
	*ret_section = elf32_section_header(&narrow);
	return 0;
}

/* Section 0 has the counts that do not fit into the header (gABI, "Sections", SHN_XINDEX). */
static int read_section_zero(const struct elf_file *elf, const Elf64_Ehdr *header,
			     Elf64_Shdr *ret_section)
{
	if (header->e_shoff == 0 || header->e_shentsize != section_header_size(elf))
		return -EBADMSG;
	if (!is_in_file(elf, header->e_shoff, section_header_size(elf)))
		return -ENODATA;
	return read_section_header(elf, header->e_shoff, ret_section);
}

static int count_program_headers(const struct elf_file *elf, const Elf64_Ehdr *header,
				 size_t *ret_count)
{
	Elf64_Shdr zero;
	int r;

	*ret_count = header->e_phnum;
	if (header->e_phnum == PN_XNUM) {
		r = read_section_zero(elf, header, &zero);
		if (r < 0)
			return r;
		*ret_count = zero.sh_info;
	}
	if (*ret_count > MAX_PROGRAM_HEADERS)
		return -EBADMSG;
	return 0;
}

/* @raw is an array of @count Elf32_Phdr. */
static int widen_program_headers(struct elf_file *elf, const uint8_t *raw, size_t count)
{
	const size_t wide_size = sizeof(Elf64_Phdr);

	elf->program_headers = malloc(count * wide_size);
	if (!elf->program_headers)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		Elf32_Phdr narrow;
		Elf64_Phdr wide;

		memcpy(&narrow, raw + i * sizeof(narrow), sizeof(narrow));
		wide = elf32_program_header(&narrow);
		memcpy(elf->program_headers + i * wide_size, &wide, sizeof(wide));
	}
	return 0;
}

static int read_program_headers(struct elf_file *elf, const Elf64_Ehdr *header)
{
	size_t entry_size = elf->is_32_bit ? sizeof(Elf32_Phdr) : sizeof(Elf64_Phdr);
	scoped_free uint8_t *raw = NULL;
	size_t count, size;
	int r;

	r = count_program_headers(elf, header, &count);
	if (r < 0 || count == 0)
		return r;
	if (header->e_phentsize != entry_size)
		return -EBADMSG;
	size = count * entry_size;
	if (!is_in_file(elf, header->e_phoff, size))
		return -ENODATA;

	raw = malloc(size);
	if (!raw)
		return -ENOMEM;
	r = pread_all(elf->fd, raw, size, header->e_phoff);
	if (r < 0)
		return r;
	if (elf->is_32_bit) {
		r = widen_program_headers(elf, raw, count);
		if (r < 0)
			return r;
	} else {
		elf->program_headers = take_ptr(raw);
	}
	elf->n_program_headers = count;
	return 0;
}

static int collect_load_segments(struct elf_file *elf)
{
	if (elf->n_program_headers == 0)
		return 0;
	elf->load_segments = calloc(elf->n_program_headers, sizeof(*elf->load_segments));
	if (!elf->load_segments)
		return -ENOMEM;

	for (size_t i = 0; i < elf->n_program_headers; i++) {
		Elf64_Phdr segment;

		memcpy(&segment, elf->program_headers + i * sizeof(segment), sizeof(segment));
		if (segment.p_type != PT_LOAD)
			continue;
		elf->load_segments[elf->n_load_segments++] = (struct load_segment){
			.file_offset = segment.p_offset,
			.vaddr = segment.p_vaddr,
			.file_size = segment.p_filesz,
			.memory_size = segment.p_memsz,
			.flags = segment.p_flags,
		};
	}
	return 0;
}

/* Finds the number of section headers and the index of the section with their names. *ret_count 0:
 * none. */
static int locate_sections(const struct elf_file *elf, const Elf64_Ehdr *header, size_t *ret_count,
			   size_t *ret_names_index)
{
	uint64_t count = header->e_shnum;
	uint64_t names_index = header->e_shstrndx;
	Elf64_Shdr zero;
	int r;

	*ret_count = 0;
	if (header->e_shoff == 0)
		return 0;
	r = read_section_zero(elf, header, &zero);
	if (r < 0)
		return r;
	if (count == 0)
		count = zero.sh_size;
	if (names_index == SHN_XINDEX)
		names_index = zero.sh_link;

	if (count > MAX_SECTIONS || names_index >= count)
		return -EBADMSG;
	if (!is_in_file(elf, header->e_shoff, count * section_header_size(elf)))
		return -ENODATA;
	*ret_count = count;
	*ret_names_index = names_index;
	return 0;
}

static int read_section_names(struct elf_file *elf, const Elf64_Shdr *names)
{
	int r;

	if (names->sh_type != SHT_STRTAB || names->sh_size > MAX_SECTION_NAMES_BYTES)
		return -EBADMSG;
	if (!is_in_file(elf, names->sh_offset, names->sh_size))
		return -ENODATA;
	elf->section_names = malloc(names->sh_size + 1);
	if (!elf->section_names)
		return -ENOMEM;
	r = pread_all(elf->fd, elf->section_names, names->sh_size, names->sh_offset);
	if (r < 0)
		return r;
	/* In the file the last name may lack its NUL. */
	elf->section_names[names->sh_size] = '\0';
	return 0;
}

static struct elf_section section_of(const struct elf_file *elf, const Elf64_Shdr *raw,
				     uint64_t names_size)
{
	uint64_t name_offset = MIN((uint64_t)raw->sh_name, names_size);

	return (struct elf_section){
		.name = elf->section_names + name_offset,
		.type = raw->sh_type,
		.flags = raw->sh_flags,
		.vaddr = raw->sh_addr,
		.file_offset = raw->sh_offset,
		.size = raw->sh_size,
		.link = raw->sh_link,
		.info = raw->sh_info,
		.alignment = raw->sh_addralign,
		.entry_size = raw->sh_entsize,
	};
}

static int read_section_headers(const struct elf_file *elf, uint64_t offset, size_t count,
				Elf64_Shdr *ret_sections)
{
	int r = 0;

	if (!elf->is_32_bit)
		return pread_all(elf->fd, ret_sections, count * sizeof(*ret_sections), offset);
	for (size_t i = 0; i < count && r == 0; i++)
		r = read_section_header(elf, offset + i * sizeof(Elf32_Shdr), &ret_sections[i]);
	return r;
}

static int read_sections(struct elf_file *elf, const Elf64_Ehdr *header)
{
	scoped_free Elf64_Shdr *raw = NULL;
	size_t count, names_index = 0;
	int r;

	r = locate_sections(elf, header, &count, &names_index);
	if (r < 0 || count == 0)
		return r;
	raw = malloc(count * sizeof(*raw));
	if (!raw)
		return -ENOMEM;
	r = read_section_headers(elf, header->e_shoff, count, raw);
	if (r < 0)
		return r;
	r = read_section_names(elf, &raw[names_index]);
	if (r < 0)
		return r;

	elf->sections = calloc(count, sizeof(*elf->sections));
	if (!elf->sections)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		elf->sections[i] = section_of(elf, &raw[i], raw[names_index].sh_size);
	elf->n_sections = count;
	return 0;
}

static int open_file(int fd, bool any_class, struct elf_file **ret_elf)
{
	scoped(elf_file_freep) struct elf_file *elf = calloc(1, sizeof(*elf));
	struct stat status;
	Elf64_Ehdr header;
	int r;

	if (!elf)
		return -ENOMEM;
	if (fstat(fd, &status) < 0)
		return -errno;
	elf->fd = fd;
	elf->file_size = (uint64_t)MAX(status.st_size, (off_t)0);

	r = read_header(elf, any_class, &header);
	if (r < 0)
		return r;
	r = read_program_headers(elf, &header);
	if (r < 0)
		return r;
	r = collect_load_segments(elf);
	if (r < 0)
		return r;
	r = read_sections(elf, &header);
	if (r < 0 && (r == -ENOMEM || elf->n_program_headers == 0))
		return r;

	*ret_elf = take_ptr(elf);
	return 0;
}

int elf_file_open(int fd, struct elf_file **ret_elf)
{
	return open_file(fd, false, ret_elf);
}

int elf_file_open_any_class(int fd, struct elf_file **ret_elf)
{
	return open_file(fd, true, ret_elf);
}

struct elf_file *elf_file_free(struct elf_file *elf)
{
	if (!elf)
		return NULL;
	free(elf->load_segments);
	free(elf->sections);
	free(elf->section_names);
	free(elf->program_headers);
	free(elf);
	return NULL;
}

const struct elf_section *elf_file_section(const struct elf_file *elf, const char *name)
{
	for (size_t i = 0; i < elf->n_sections; i++)
		if (strcmp(elf->sections[i].name, name) == 0)
			return &elf->sections[i];
	return NULL;
}

int elf_file_read_section(const struct elf_file *elf, const struct elf_section *section,
			  struct bytes *out)
{
	int r;

	/* SHT_NOBITS (.bss, most sections of a .debug file): a size, but no bytes in the file. */
	if (section->type == SHT_NOBITS || section->size == 0)
		return 0;
	if (!is_in_file(elf, section->file_offset, section->size))
		return -ENODATA;
	r = bytes_reserve(out, section->size);
	if (r < 0)
		return r;
	r = pread_all(elf->fd, out->data + out->size, section->size, section->file_offset);
	if (r < 0)
		return r;
	out->size += section->size;
	return 0;
}

int load_segments_offset_to_vaddr(const struct load_segment *segments, size_t count,
				  uint64_t file_offset, uint64_t *ret_vaddr)
{
	for (size_t i = 0; i < count; i++) {
		uint64_t into = file_offset - segments[i].file_offset;

		if (file_offset < segments[i].file_offset || into >= segments[i].file_size)
			continue;
		*ret_vaddr = segments[i].vaddr + into;
		return 1;
	}
	return 0;
}
