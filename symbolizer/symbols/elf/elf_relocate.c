/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Relocates debug sections of object files (kernel modules), which hold zeros in place of addresses
 * and of offsets into other debug sections. An address in .text becomes its offset in .text,
 * because agents report addresses in modules so. An address in another loaded section becomes
 * DROPPED.
 */

#include <elf.h>
#include <string.h>

#include "symbolizer/symbols/elf/elf_image.h"

/* Address that linkers write into debug sections for code that they removed. */
#define DROPPED UINT64_MAX

/*
 * Returns the width of an absolute relocation in bytes; 0 for types that debug sections do not use.
 */
static size_t absolute_bytes(uint16_t machine, uint32_t type)
{
	switch (machine) {
	case EM_X86_64:
		if (type == R_X86_64_64)
			return 8;
		return type == R_X86_64_32 || type == R_X86_64_32S ? 4 : 0;
	case EM_386:
		return type == R_386_32 ? 4 : 0;
	case EM_AARCH64:
		if (type == R_AARCH64_ABS64)
			return 8;
		return type == R_AARCH64_ABS32 ? 4 : 0;
	default:
		return 0;
	}
}

static bool is_other_loaded_section(const struct elf_image *image, uint32_t index)
{
	return index < image->n_sections && index != image->text_index &&
	       (image->sections[index].flags & SHF_ALLOC);
}

/* @addend_in_place: SHT_REL, where the relocated field itself holds the addend. */
static void apply(struct elf_image *image, struct elf_image_section *symbols,
		  const struct elf_image_relocation *relocation, bool addend_in_place,
		  struct bytes_view to)
{
	uint8_t *data = (uint8_t *)to.data;
	const size_t bytes = absolute_bytes(image->machine, relocation->type);
	struct elf_image_symbol symbol;
	uint64_t value = 0;

	if (bytes == 0 || relocation->offset > to.size || bytes > to.size - relocation->offset)
		return;
	if (elf_image_symbol(image, symbols, relocation->symbol, &symbol) < 0)
		return;
	if (addend_in_place)
		memcpy(&value, data + relocation->offset, bytes);
	value += symbol.value + (uint64_t)relocation->addend;
	if (is_other_loaded_section(image, symbol.section))
		value = DROPPED;
	memcpy(data + relocation->offset, &value, bytes);
}

static int apply_section(struct elf_image *image, const struct elf_image_section *relocations,
			 uint8_t *data, size_t size)
{
	struct elf_image_relocation relocation;
	struct elf_image_section *symbols;
	uint32_t n_symbols;
	int r;

	if (relocations->link >= image->n_sections)
		return -EBADMSG;
	symbols = &image->sections[relocations->link];
	r = elf_image_symbols(image, symbols, &n_symbols);
	if (r < 0)
		return r;
	for (uint32_t i = 0; elf_image_relocation(image, relocations, i, &relocation); i++) {
		if (relocation.symbol < n_symbols)
			apply(image, symbols, &relocation, relocations->type == SHT_REL,
			      (struct bytes_view){ data, size });
	}
	return 0;
}

int elf_image_relocate(struct elf_image *image, const struct elf_image_section *section,
		       uint8_t *data, size_t size)
{
	for (uint32_t i = 0; i < image->n_sections; i++) {
		const struct elf_image_section *relocations = &image->sections[i];
		int r;

		if ((relocations->type != SHT_RELA && relocations->type != SHT_REL) ||
		    relocations->info != section->index || (relocations->flags & SHF_COMPRESSED))
			continue;
		r = apply_section(image, relocations, data, size);
		if (r < 0)
			return r;
	}
	return 0;
}
