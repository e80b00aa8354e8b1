/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Converts headers of 32-bit ELF files to 64-bit headers with the same field values. EI_CLASS
 * therefore remains ELFCLASS32, and e_ehsize, e_phentsize and e_shentsize remain the sizes of
 * 32-bit headers. Pure functions. Format: System V gABI, "ELF Header", "Program Header",
 * "Sections".
 */

#include <elf.h>

Elf64_Ehdr elf32_header(const Elf32_Ehdr *header);
Elf64_Phdr elf32_program_header(const Elf32_Phdr *segment);
Elf64_Shdr elf32_section_header(const Elf32_Shdr *section);
