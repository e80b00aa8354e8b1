/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/symbols/compile/go_file.h"

#include <elf.h>
#include <string.h>

#include "common/elf/go_pclntab.h"

/*
 * Offsets of fields of moduledata. Since Go 1.20 two pointers to coverage counters precede gofunc.
 */
#define MODULE_TEXT        176
#define MODULE_GOFUNC_1_18 304
#define MODULE_GOFUNC_1_20 320

static bool read_u64(struct bytes_view data, uint64_t offset, uint64_t *ret_value)
{
	if (offset > data.size || data.size - offset < sizeof(*ret_value))
		return false;
	memcpy(ret_value, data.data + offset, sizeof(*ret_value));
	return true;
}

/*
 * Returns the value that a relocation writes to @elf_addr when the program starts (in a PIE), or 0.
 */
static uint64_t relocated_pointer(const struct elf_image *image, uint64_t elf_addr)
{
	for (uint32_t i = 0; i < image->n_sections; i++) {
		const struct elf_image_section *section = &image->sections[i];
		struct elf_image_relocation relocation;

		if (section->type != SHT_RELA || !(section->flags & SHF_ALLOC))
			continue;
		for (uint32_t j = 0; elf_image_relocation(image, section, j, &relocation); j++) {
			if (relocation.offset == elf_addr && relocation.addend > 0)
				return (uint64_t)relocation.addend;
		}
	}
	return 0;
}

static uint64_t pointer_at(struct elf_image *image, uint64_t elf_addr)
{
	uint64_t value = 0;

	if (read_u64(elf_image_at(image, elf_addr), 0, &value) && value != 0)
		return value;
	return relocated_pointer(image, elf_addr);
}

static struct elf_image_section *find_table(const struct elf_image *image)
{
	struct elf_image_section *section = elf_image_section(image, ".gopclntab");

	return section ? section : elf_image_section(image, ".data.rel.ro.gopclntab");
}

/* Takes the part of the table from @offset to the end of the table. */
static bool take_part(const struct go_file *file, uint64_t offset, struct bytes_view *ret_part)
{
	if (offset > file->table.size)
		return false;
	*ret_part =
		(struct bytes_view){ file->table.data + offset, file->table.size - (size_t)offset };
	return true;
}

static int read_header(struct elf_image *image, const struct elf_image_section *section,
		       struct go_file *file)
{
	struct go_pclntab_header header;

	if (file->table.size < GO_PCLNTAB_HEADER_BYTES ||
	    !go_pclntab_header_read(file->table.data, &header) || header.version == GO_PCLNTAB_1_16)
		return 0;
	if (!take_part(file, header.names, &file->names) ||
	    !take_part(file, header.units, &file->units) ||
	    !take_part(file, header.files, &file->files) ||
	    !take_part(file, header.values, &file->values) ||
	    !take_part(file, header.functions, &file->functions))
		return -EBADMSG;
	if (header.n_functions > file->functions.size / 8)
		return -EBADMSG;
	file->is_1_20 = header.version == GO_PCLNTAB_1_20;
	file->quantum = header.quantum;
	file->n_functions = header.n_functions;
	file->text = header.text_start;
	if (file->text == 0)
		file->text = relocated_pointer(image, section->elf_addr + GO_PCLNTAB_TEXT_START);
	return 1;
}

/*
 * Returns whether @elf_addr, where a pointer to the table was found, is the address of moduledata.
 */
static bool is_module(struct elf_image *image, struct go_file *file, uint64_t elf_addr)
{
	uint64_t text = pointer_at(image, elf_addr + MODULE_TEXT);

	if (text == 0 || (file->text != 0 && text != file->text))
		return false;
	file->text = text;
	return true;
}

/* Finds moduledata by its first field, a pointer to the table. Returns its address, or 0. */
static uint64_t find_module(struct elf_image *image, struct go_file *file, uint64_t table)
{
	for (uint32_t i = 0; i < image->n_sections; i++) {
		const struct elf_image_section *section = &image->sections[i];
		struct elf_image_relocation relocation;
		uint64_t value;

		if (section->type == SHT_RELA && (section->flags & SHF_ALLOC)) {
			for (uint32_t j = 0; elf_image_relocation(image, section, j, &relocation);
			     j++) {
				if ((uint64_t)relocation.addend == table &&
				    is_module(image, file, relocation.offset))
					return relocation.offset;
			}
		}
		if ((section->flags & (SHF_ALLOC | SHF_WRITE)) != (SHF_ALLOC | SHF_WRITE))
			continue;
		for (uint64_t at = 0; read_u64(section->stored, at, &value); at += 8) {
			if (value == table && is_module(image, file, section->elf_addr + at))
				return section->elf_addr + at;
		}
	}
	return 0;
}

int go_file_find(struct elf_image *image, struct go_file *ret_file)
{
	struct elf_image_section *section = find_table(image);
	struct go_file file = {};
	uint64_t module;
	int r;

	if (!section || !image->is_64 || image->relocatable)
		return 0;
	r = elf_image_data(image, section, &file.table);
	if (r == 0)
		r = read_header(image, section, &file);
	if (r <= 0)
		return r;
	module = find_module(image, &file, section->elf_addr);
	if (module != 0) {
		const uint64_t at = file.is_1_20 ? MODULE_GOFUNC_1_20 : MODULE_GOFUNC_1_18;

		file.trees = elf_image_at(image, pointer_at(image, module + at));
	}
	if (file.text == 0)
		return 0;
	*ret_file = file;
	return 1;
}
