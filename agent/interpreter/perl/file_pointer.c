/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/interpreter/perl/file_pointer.h"

#include <elf.h>
#include <string.h>

#include "common/elf/elf_symbol.h"

/* perl 5.36 has 184 KiB. */
#define MAX_RELOCATION_BYTES (4 * MIB)

int file_pointer_read(const struct elf_file *elf, uint64_t vaddr, uint64_t *ret_value)
{
	const struct elf_section *section = elf_file_section(elf, ".rela.dyn");
	scoped(bytes_release) struct bytes relocations = BYTES_INIT(MAX_RELOCATION_BYTES);
	uint64_t value = 0;
	Elf64_Rela relocation;
	int r;

	if (!elf_read_data(elf, vaddr, &value, sizeof(value)))
		return 0;
	if (value != 0 || !section) {
		*ret_value = value;
		return value != 0;
	}
	r = elf_file_read_section(elf, section, &relocations);
	if (r < 0)
		return r;
	for (size_t at = 0; relocations.size - at >= sizeof(relocation); at += sizeof(relocation)) {
		memcpy(&relocation, relocations.data + at, sizeof(relocation));
		if (relocation.r_offset != vaddr ||
		    relocation.r_info != ELF64_R_INFO(0, R_X86_64_RELATIVE))
			continue;
		*ret_value = (uint64_t)relocation.r_addend;
		return 1;
	}
	return 0;
}
