/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Headers of 32-bit ELF files as those of 64-bit files with the same meaning. Pure functions of
 * their arguments. Format: System V gABI, "ELF Header", "Program Header", "Sections".
 */

#include <elf.h>

Elf64_Ehdr elf32_header(const Elf32_Ehdr *header);
Elf64_Phdr elf32_program_header(const Elf32_Phdr *segment);
Elf64_Shdr elf32_section_header(const Elf32_Shdr *section);
