/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The look at the section table that comes before libdw may touch a file: libdw expands every
 * compressed debug section at once when it opens one, so that a megabyte could become a gigabyte.
 * Where that is beyond a limit the DWARF is left alone, before a byte of it is expanded; the
 * symbols of the file, which are not compressed, are of use all the same.
 */

#include <stdio.h>
#include <string.h>

#include "common/scoped.h"
#include "symbolizer/symbols/function_source.h"
#include "symbolizer/symbols/symbol_limits.h"

/* The header of a ".zdebug_" section: "ZLIB" and the expanded size, big-endian. */
#define ZDEBUG_HEADER_BYTES 12

int function_source_open(struct function_source *source, int fd, char *message)
{
	GElf_Ehdr header;

	*source = (struct function_source){ .message = message };
	(void)elf_version(EV_CURRENT);
	source->elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	if (!source->elf || elf_kind(source->elf) != ELF_K_ELF ||
	    !gelf_getehdr(source->elf, &header)) {
		snprintf(message, SYMBOL_TABLE_MESSAGE_SIZE, "no ELF file");
		return -ENOEXEC;
	}
	source->relocatable = header.e_type == ET_REL;
	return 0;
}

void function_source_release(struct function_source *source)
{
	if (source->dwarf)
		(void)dwarf_end(source->dwarf);
	if (source->elf)
		(void)elf_end(source->elf);
	vec_release(&source->code);
	vec_release(&source->functions);
}

static int refuse(struct function_source *source, int error, const char *what, const char *section)
{
	snprintf(source->message, SYMBOL_TABLE_MESSAGE_SIZE, "%s (section '%.60s')", what, section);
	return error;
}

/* What the section takes once libdw has opened it. 1 told, 0 its header cannot be read. */
static int expanded_size(Elf_Scn *scn, const GElf_Shdr *header, const char *name,
			 uint64_t *ret_size)
{
	*ret_size = header->sh_size;
	if (header->sh_flags & SHF_COMPRESSED) {
		GElf_Chdr compression;

		if (!gelf_getchdr(scn, &compression))
			return 0;
		*ret_size = compression.ch_size;
	} else if (strncmp(name, ".zdebug_", 8) == 0) {
		Elf_Data *data = elf_rawdata(scn, NULL);
		uint64_t size = 0;

		if (!data || data->d_size < ZDEBUG_HEADER_BYTES ||
		    memcmp(data->d_buf, "ZLIB", 4) != 0)
			return 0;
		for (size_t i = 4; i < ZDEBUG_HEADER_BYTES; i++)
			size = size << 8 | ((const uint8_t *)data->d_buf)[i];
		*ret_size = size;
	}
	return 1;
}

static bool is_debug_section(const char *name)
{
	return strncmp(name, ".debug_", 7) == 0 || strncmp(name, ".zdebug_", 8) == 0 ||
	       strncmp(name, ".gnu.debuglto_", 14) == 0;
}

static int check_expansion(struct function_source *source, Elf_Scn *scn, const GElf_Shdr *header,
			   const char *name, uint64_t *total_bytes)
{
	uint64_t size;

	if (header->sh_type == SHT_NOBITS)
		return 0;
	if (!expanded_size(scn, header, name, &size))
		return refuse(source, -EBADMSG, "no DWARF is read: a compression header is damaged",
			      name);
	if (size == header->sh_size && !(header->sh_flags & SHF_COMPRESSED))
		return 0;
	if (size / DEBUG_EXPANSION_MAX > header->sh_size)
		return refuse(source, -EFBIG,
			      "no DWARF is read: a section expands by an implausible factor", name);
	if (__builtin_add_overflow(*total_bytes, size, total_bytes) ||
	    *total_bytes > DEBUG_EXPANDED_MAX_BYTES)
		return refuse(source, -EFBIG,
			      "no DWARF is read: the debug sections expand beyond the limit", name);
	return 0;
}

static int add_code_section(struct function_source *source, const GElf_Shdr *header, size_t index,
			    const char *name)
{
	bool wanted =
		(header->sh_flags & (SHF_ALLOC | SHF_EXECINSTR)) == (SHF_ALLOC | SHF_EXECINSTR);
	uint64_t end;

	/* In an object file every section starts at 0; addresses in modules are relative to .text.
	 */
	if (source->relocatable)
		wanted = wanted && strcmp(name, ".text") == 0;
	if (!wanted || header->sh_size == 0)
		return 0;
	if (__builtin_add_overflow(header->sh_addr, header->sh_size, &end))
		return refuse(source, -EBADMSG, "a section wraps around the address space", name);
	return vec_push(
		&source->code,
		(struct code_section){ .index = index, .start = header->sh_addr, .end = end });
}

static int compare_code_sections(const void *left, const void *right)
{
	const struct code_section *a = left;
	const struct code_section *b = right;

	return a->start < b->start ? -1 : a->start > b->start;
}

const struct code_section *code_section_at(const struct code_section_vec *code, uint64_t elf_addr)
{
	size_t low = 0;
	size_t high = code->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (code->items[middle].start <= elf_addr)
			low = middle + 1;
		else
			high = middle;
	}
	return low > 0 && elf_addr < code->items[low - 1].end ? &code->items[low - 1] : NULL;
}

static int check_section(struct function_source *source, Elf_Scn *scn, size_t names,
			 uint64_t file_size, uint64_t *expanded_bytes)
{
	GElf_Shdr header;
	const char *name;
	uint64_t size;

	if (!gelf_getshdr(scn, &header))
		return refuse(source, -EBADMSG, "a section header is damaged", "?");
	name = elf_strptr(source->elf, names, header.sh_name);
	if (!name)
		return refuse(source, -EBADMSG, "a section has no name", "?");
	if (header.sh_type != SHT_NOBITS && header.sh_type != SHT_NULL &&
	    (header.sh_offset > file_size || header.sh_size > file_size - header.sh_offset))
		return refuse(source, -EBADMSG, "a section lies beyond the end of the file", name);

	if (is_debug_section(name)) {
		if (source->dwarf_error == 0)
			source->dwarf_error =
				check_expansion(source, scn, &header, name, expanded_bytes);
		if (strstr(name, "debug_info") && header.sh_type != SHT_NOBITS &&
		    expanded_size(scn, &header, name, &size))
			source->debug_info_bytes += size;
	}
	return add_code_section(source, &header, elf_ndxscn(scn), name);
}

/* libelf takes a section table that lies beyond the end for none. */
static bool section_table_is_whole(const struct function_source *source, uint64_t file_size)
{
	GElf_Ehdr header;
	uint64_t size;

	if (!gelf_getehdr(source->elf, &header))
		return false;
	size = (uint64_t)header.e_shnum * header.e_shentsize;
	return header.e_shoff <= file_size && size <= file_size - header.e_shoff;
}

int function_source_check(struct function_source *source, uint64_t file_size)
{
	uint64_t expanded_bytes = 0;
	size_t names;
	int r;

	if (!section_table_is_whole(source, file_size))
		return refuse(source, -EBADMSG, "the file is truncated", "section table");
	if (elf_getshdrstrndx(source->elf, &names) < 0)
		return refuse(source, -EBADMSG, "the section table is damaged", "?");
	for (Elf_Scn *scn = elf_nextscn(source->elf, NULL); scn;
	     scn = elf_nextscn(source->elf, scn)) {
		r = check_section(source, scn, names, file_size, &expanded_bytes);
		if (r < 0)
			return r;
	}
	if (source->code.count > 0)
		qsort(source->code.items, source->code.count, sizeof(*source->code.items),
		      compare_code_sections);
	return 0;
}
