/* SPDX-License-Identifier: Apache-2.0 */
/*
 * .debug_cu_index and .debug_tu_index of a .dwp. They are hash tables from the id of a unit to a
 * row with the offsets of its parts of the sections. The hash table is skipped, because all units
 * are read: the rows are sorted by the unit's offset instead. Versions 2 (GNU) and 5.
 */

#include <dwarf.h>

#include "symbolizer/symbols/dwarf/dwarf_file.h"

/* Section numbers that <dwarf.h> lacks: GNU's for .debug_types, and that of .debug_str_offsets. */
#define GNU_SECT_TYPES       2
#define GNU_SECT_STR_OFFSETS 6

#define COLUMNS_MAX 16

struct package_index {
	uint32_t version;
	uint32_t n_columns;
	uint32_t n_rows;
	uint32_t n_slots;
	uint32_t sections[COLUMNS_MAX];
};

static bool read_index_header(struct bytes_reader *cursor, struct package_index *ret_index)
{
	struct package_index index = { .version = cursor_u32(cursor) };

	/* In DWARF 5 the version has 16 bits, followed by two bytes of padding. */
	if (index.version != 2)
		index.version &= 0xffff;
	index.n_columns = cursor_u32(cursor);
	index.n_rows = cursor_u32(cursor);
	index.n_slots = cursor_u32(cursor);
	if (cursor->error < 0 || (index.version != 2 && index.version != 5) ||
	    index.n_columns > COLUMNS_MAX)
		return false;
	cursor_skip(cursor, (uint64_t)index.n_slots * (8 + 4));
	for (uint32_t i = 0; i < index.n_columns; i++)
		index.sections[i] = cursor_u32(cursor);
	*ret_index = index;
	return cursor->error == 0 &&
	       (uint64_t)index.n_rows * index.n_columns * 4 <= cursor_left(cursor);
}

static void store_offset(const struct package_index *index, uint32_t section, uint32_t offset,
			 struct dwarf_parts *parts)
{
	switch (section) {
	case DW_SECT_INFO:
		parts->info = offset;
		break;
	case GNU_SECT_TYPES:
		parts->types = offset;
		break;
	case DW_SECT_ABBREV:
		parts->abbrev = offset;
		break;
	case GNU_SECT_STR_OFFSETS:
		parts->str_offsets = offset;
		break;
	case DW_SECT_RNGLISTS:
		if (index->version == 5)
			parts->rnglists = offset;
		break;
	default:
		break;
	}
}

static int read_index(struct dwarf_file *file, const char *name)
{
	struct package_index index;
	struct bytes_reader cursor;
	struct bytes_view data;
	int r;

	r = elf_image_data(file->image, elf_image_section(file->image, name), &data);
	if (r < 0 || data.size == 0)
		return r;
	cursor = cursor_at(data, 0);
	if (!read_index_header(&cursor, &index))
		return 0;
	for (uint32_t row = 0; row < index.n_rows; row++) {
		struct dwarf_parts parts = { .info = UINT64_MAX, .types = UINT64_MAX };

		for (uint32_t i = 0; i < index.n_columns; i++)
			store_offset(&index, index.sections[i], cursor_u32(&cursor), &parts);
		r = vec_push(&file->parts, parts);
		if (r < 0)
			return r;
	}
	return 0;
}

static int compare_parts(const void *left, const void *right)
{
	const struct dwarf_parts *a = left;
	const struct dwarf_parts *b = right;

	if (a->info != b->info)
		return a->info < b->info ? -1 : 1;
	return a->types < b->types ? -1 : a->types > b->types;
}

int dwarf_parts_read(struct dwarf_file *file)
{
	int r = read_index(file, ".debug_cu_index");

	if (r == 0)
		r = read_index(file, ".debug_tu_index");
	if (r == 0 && file->parts.count > 0)
		qsort(file->parts.items, file->parts.count, sizeof(*file->parts.items),
		      compare_parts);
	return r;
}

const struct dwarf_parts *dwarf_parts_of(const struct dwarf_file *file, bool in_types,
					 uint64_t start)
{
	const struct dwarf_parts wanted = {
		.info = in_types ? UINT64_MAX : start,
		.types = in_types ? start : UINT64_MAX,
	};

	if (file->parts.count == 0)
		return NULL;
	return bsearch(&wanted, file->parts.items, file->parts.count, sizeof(wanted),
		       compare_parts);
}
