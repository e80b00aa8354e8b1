/* SPDX-License-Identifier: Apache-2.0 */
#include "common/elf/elf32.h"

#include <string.h>

Elf64_Ehdr elf32_header(const Elf32_Ehdr *header)
{
	Elf64_Ehdr wide = {
		.e_type = header->e_type,
		.e_machine = header->e_machine,
		.e_version = header->e_version,
		.e_entry = header->e_entry,
		.e_phoff = header->e_phoff,
		.e_shoff = header->e_shoff,
		.e_flags = header->e_flags,
		.e_ehsize = header->e_ehsize,
		.e_phentsize = header->e_phentsize,
		.e_phnum = header->e_phnum,
		.e_shentsize = header->e_shentsize,
		.e_shnum = header->e_shnum,
		.e_shstrndx = header->e_shstrndx,
	};

	memcpy(wide.e_ident, header->e_ident, sizeof(wide.e_ident));
	return wide;
}

Elf64_Phdr elf32_program_header(const Elf32_Phdr *segment)
{
	return (Elf64_Phdr){
		.p_type = segment->p_type,
		.p_flags = segment->p_flags,
		.p_offset = segment->p_offset,
		.p_vaddr = segment->p_vaddr,
		.p_paddr = segment->p_paddr,
		.p_filesz = segment->p_filesz,
		.p_memsz = segment->p_memsz,
		.p_align = segment->p_align,
	};
}

Elf64_Shdr elf32_section_header(const Elf32_Shdr *section)
{
	return (Elf64_Shdr){
		.sh_name = section->sh_name,
		.sh_type = section->sh_type,
		.sh_flags = section->sh_flags,
		.sh_addr = section->sh_addr,
		.sh_offset = section->sh_offset,
		.sh_size = section->sh_size,
		.sh_link = section->sh_link,
		.sh_info = section->sh_info,
		.sh_addralign = section->sh_addralign,
		.sh_entsize = section->sh_entsize,
	};
}
