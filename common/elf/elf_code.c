/* SPDX-License-Identifier: Apache-2.0 */
#include "common/elf/elf_code.h"

#include <elf.h>
#include <string.h>

#include "common/elf/richness.h"

static bool take(uint64_t elf_addr, uint64_t start, uint64_t size, uint64_t file_offset,
		 struct elf_code *ret_code)
{
	if (elf_addr < start || elf_addr - start >= size)
		return false;
	*ret_code = (struct elf_code){ .file_offset = file_offset + (elf_addr - start),
				       .size = size - (elf_addr - start) };
	return true;
}

static bool is_code(const struct elf_file *elf, const struct elf_section *section)
{
	if (!(section->flags & SHF_EXECINSTR) || !elf_section_has_contents(section))
		return false;
	return elf->type != ET_REL || strcmp(section->name, ".text") == 0;
}

int elf_code_find(const struct elf_file *elf, uint64_t elf_addr, struct elf_code *ret_code)
{
	for (size_t i = 0; i < elf->n_sections; i++) {
		const struct elf_section *section = &elf->sections[i];

		if (is_code(elf, section) &&
		    take(elf_addr, section->vaddr, section->size, section->file_offset, ret_code))
			return 1;
	}
	for (size_t i = 0; i < elf->n_load_segments && elf->n_sections == 0; i++) {
		const struct load_segment *segment = &elf->load_segments[i];

		if ((segment->flags & PF_X) && take(elf_addr, segment->vaddr, segment->file_size,
						    segment->file_offset, ret_code))
			return 1;
	}
	return 0;
}
