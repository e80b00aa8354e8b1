/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/symbols/dwarf/dwarf_file.h"

#include <dwarf.h>

#include "common/search.h"
#include "symbolizer/symbols/symbol_limits.h"

static int read_sections(struct dwarf_file *file)
{
	const struct {
		const char *name;
		struct bytes_view *view;
	} sections[] = {
		{ ".debug_info", &file->info },     { ".debug_types", &file->types },
		{ ".debug_abbrev", &file->abbrev }, { ".debug_str", &file->str },
		{ ".debug_line", &file->line },     { ".debug_line_str", &file->line_str },
		{ ".debug_ranges", &file->ranges }, { ".debug_rnglists", &file->rnglists },
		{ ".debug_addr", &file->addr },     { ".debug_str_offsets", &file->str_offsets },
	};
	char name[32];

	for (size_t i = 0; i < ARRAY_SIZE(sections); i++) {
		int r;

		(void)snprintf(name, sizeof(name), "%s%s", sections[i].name,
			       file->index == DWARF_SPLIT ? ".dwo" : "");
		r = elf_image_data(file->image, elf_image_section(file->image, name),
				   sections[i].view);
		if (r < 0)
			return r;
	}
	return 0;
}

/* Reads the fields of a unit header that follow the length. */
static void read_header(struct dwarf_unit *unit, struct bytes_reader *cursor)
{
	unit->version = (uint8_t)MIN(cursor_u16(cursor), (uint16_t)UINT8_MAX);
	if (unit->version >= 5) {
		unit->unit_type = cursor_u8(cursor);
		unit->widths.address_size = cursor_u8(cursor);
		unit->abbrev_offset = cursor_fixed(cursor, unit->widths.offset_size);
		unit->is_type =
			unit->unit_type == DW_UT_type || unit->unit_type == DW_UT_split_type;
		if (unit->is_type || unit->unit_type == DW_UT_skeleton ||
		    unit->unit_type == DW_UT_split_compile)
			unit->id = cursor_u64(cursor);
	} else {
		unit->abbrev_offset = cursor_fixed(cursor, unit->widths.offset_size);
		unit->widths.address_size = cursor_u8(cursor);
		unit->is_type = unit->in_types;
		if (unit->is_type)
			unit->id = cursor_u64(cursor);
	}
	if (unit->is_type)
		unit->type_offset = cursor_fixed(cursor, unit->widths.offset_size);
	unit->widths.ref_addr_size =
		unit->version <= 2 ? unit->widths.address_size : unit->widths.offset_size;
}

static bool is_supported(const struct dwarf_unit *unit)
{
	return unit->version >= 2 && unit->version <= 5 &&
	       (unit->widths.address_size == 8 || unit->widths.address_size == 4);
}

/*
 * Reads unit headers up to the end of the section, or up to one with an impossible length, because
 * only the length leads to the next unit.
 */
static int read_headers(struct dwarf_file *file, bool in_types)
{
	struct bytes_view section = in_types ? file->types : file->info;
	struct bytes_reader cursor = cursor_at(section, 0);

	while (cursor_left(&cursor) > 0) {
		struct dwarf_unit unit = { .file = file, .in_types = in_types };
		struct bytes_reader header;
		const struct dwarf_parts *parts;
		uint64_t length;

		unit.start = (uint64_t)(cursor.next - section.data);
		length = cursor_unit_length(&cursor, &unit.widths.offset_size);
		if (cursor.error < 0)
			return file->units.count > 0 ? 0 : -EBADMSG;
		header = cursor;
		header.end = cursor.next + length;
		cursor_skip(&cursor, length);
		unit.end = (uint64_t)(cursor.next - section.data);

		read_header(&unit, &header);
		unit.entries = (uint64_t)(header.next - section.data);
		parts = dwarf_parts_of(file, in_types, unit.start);
		if (parts)
			unit.abbrev_offset += parts->abbrev;
		if (header.error < 0 || !is_supported(&unit))
			continue;
		if (vec_push(&file->units, unit) < 0)
			return -ENOMEM;
	}
	return 0;
}

int dwarf_file_open(struct dwarf_file *file, enum dwarf_file_index index, struct elf_image *image)
{
	int r;

	*file = (struct dwarf_file){ .index = index, .image = image };
	file->files[index] = file;
	r = read_sections(file);
	if (r < 0)
		return r;
	if (file->info.size == 0)
		return 0;
	r = index == DWARF_SPLIT ? dwarf_parts_read(file) : 0;
	if (r < 0)
		return r;
	r = read_headers(file, false);
	if (r < 0)
		return r;
	r = read_headers(file, true);
	if (r < 0)
		return r;
	r = dwarf_file_sort_ids(file);
	return r < 0 ? r : file->units.count > 0;
}

void dwarf_file_release(struct dwarf_file *file)
{
	for (size_t i = 0; i < ABBREV_TABLES; i++)
		dwarf_abbrev_table_release(&file->tables[i]);
	vec_release(&file->units);
	vec_release(&file->ids);
	vec_release(&file->parts);
}

int dwarf_unit_abbrevs(const struct dwarf_unit *unit, const struct dwarf_abbrev_table **ret_table)
{
	const uint64_t hash = unit->abbrev_offset * UINT64_C(0x9e3779b97f4a7c15);
	struct dwarf_abbrev_table *table = &unit->file->tables[hash >> 58];
	int r;

	static_assert(ABBREV_TABLES == 1 << (64 - 58), "the index has six bits");
	if (!table->is_used || table->offset != unit->abbrev_offset ||
	    memcmp(&table->widths, &unit->widths, sizeof(table->widths)) != 0) {
		table->is_used = false;
		r = dwarf_abbrev_table_read(table, unit->file->abbrev, unit->abbrev_offset,
					    unit->widths);
		if (r < 0)
			return r;
		table->is_used = true;
	}
	*ret_table = table;
	return 0;
}

struct dwarf_unit *dwarf_unit_at(struct dwarf_file *file, dwarf_ref ref)
{
	const bool in_types = (ref & DWARF_REF_TYPES) != 0;
	const uint64_t offset = DWARF_REF_OFFSET(ref);
	struct dwarf_unit *unit;
	size_t low;

	if (DWARF_REF_FILE(ref) >= N_DWARF_FILES || !file->files[DWARF_REF_FILE(ref)])
		return NULL;
	file = file->files[DWARF_REF_FILE(ref)];
	low = lower_bound(at, file->units.count,
			  file->units.items[at].in_types < in_types ||
				  (file->units.items[at].in_types == in_types &&
				   file->units.items[at].start <= offset));
	unit = low > 0 ? &file->units.items[low - 1] : NULL;
	return unit && unit->in_types == in_types && offset >= unit->entries && offset < unit->end
		       ? unit
		       : NULL;
}

static int compare_ids(const void *left, const void *right)
{
	const struct dwarf_unit_id *a = left;
	const struct dwarf_unit_id *b = right;

	if (a->is_type != b->is_type)
		return a->is_type - b->is_type;
	if (a->id != b->id)
		return a->id < b->id ? -1 : 1;
	return a->unit < b->unit ? -1 : a->unit > b->unit;
}

int dwarf_file_sort_ids(struct dwarf_file *file)
{
	int r = 0;

	vec_clear(&file->ids);
	for (size_t i = 0; r == 0 && i < file->units.count; i++) {
		const struct dwarf_unit *unit = &file->units.items[i];

		if (unit->id != 0 || unit->is_type)
			r = vec_push(&file->ids,
				     (struct dwarf_unit_id){ .id = unit->id,
							     .unit = (uint32_t)i,
							     .is_type = unit->is_type });
	}
	if (r == 0 && file->ids.count > 0)
		qsort(file->ids.items, file->ids.count, sizeof(*file->ids.items), compare_ids);
	return r;
}

struct dwarf_unit *dwarf_unit_by_id(struct dwarf_file *file, uint64_t id, bool is_type)
{
	const struct dwarf_unit_id wanted = { .id = id, .is_type = is_type };
	const size_t low =
		lower_bound(at, file->ids.count, compare_ids(&file->ids.items[at], &wanted) < 0);

	if (low == file->ids.count || file->ids.items[low].id != id ||
	    file->ids.items[low].is_type != is_type)
		return NULL;
	return &file->units.items[file->ids.items[low].unit];
}

struct first_entry {
	struct dwarf_value folder, name, split_name, low;
	bool has_folder, has_name, has_split_name, has_low;
};

/*
 * Stores an attribute of the first entry. Strings and addresses are resolved later, because the
 * bases that they need may follow them.
 */
static void store_attribute(struct dwarf_unit *unit, uint16_t attribute,
			    const struct dwarf_value *value, struct first_entry *entry)
{
	switch (attribute) {
	case DW_AT_name:
		entry->name = *value;
		entry->has_name = true;
		break;
	case DW_AT_comp_dir:
		entry->folder = *value;
		entry->has_folder = true;
		break;
	case DW_AT_dwo_name:
	case DW_AT_GNU_dwo_name:
		entry->split_name = *value;
		entry->has_split_name = true;
		break;
	case DW_AT_low_pc:
		entry->low = *value;
		entry->has_low = true;
		break;
	case DW_AT_stmt_list:
		unit->line_offset = value->number;
		unit->has_lines = true;
		break;
	case DW_AT_language:
		unit->language = (uint16_t)value->number;
		break;
	case DW_AT_str_offsets_base:
		unit->str_offsets_base = value->number;
		break;
	case DW_AT_addr_base:
	case DW_AT_GNU_addr_base:
		unit->addr_base = value->number;
		break;
	case DW_AT_rnglists_base:
		unit->rnglists_base = value->number;
		break;
	case DW_AT_GNU_ranges_base:
		unit->ranges_base = value->number;
		break;
	case DW_AT_GNU_dwo_id:
		unit->id = value->number;
		break;
	default:
		break;
	}
}

/* A split unit has no attributes for its bases: its tables begin behind their headers. */
static void default_bases(struct dwarf_unit *unit)
{
	const struct dwarf_parts *parts;
	const bool is_64 = unit->widths.offset_size == 8;

	if (unit->file->index != DWARF_SPLIT)
		return;
	parts = dwarf_parts_of(unit->file, unit->in_types, unit->start);
	if (unit->version >= 5) {
		unit->str_offsets_base = is_64 ? 16 : 8;
		unit->rnglists_base = is_64 ? 20 : 12;
	}
	if (parts) {
		unit->str_offsets_base += parts->str_offsets;
		unit->rnglists_base += parts->rnglists;
	}
}

int dwarf_unit_read(struct dwarf_unit *unit)
{
	const struct dwarf_abbrev_table *table;
	const struct dwarf_abbrev *abbrev;
	struct bytes_reader cursor = dwarf_unit_cursor(unit, unit->entries);
	struct first_entry entry = {};
	uint64_t code = cursor_uleb(&cursor);
	int r;

	if (unit->was_read)
		return 0;
	r = dwarf_unit_abbrevs(unit, &table);
	if (r < 0)
		return r;
	if (code == 0 || code >= table->by_code.count || table->by_code.items[code].tag == 0)
		return -EBADMSG;
	abbrev = &table->by_code.items[code];
	default_bases(unit);
	for (unsigned int i = 0; i < abbrev->n_specs; i++) {
		const struct dwarf_spec *spec = &table->specs.items[abbrev->first_spec + i];
		struct dwarf_value value;

		dwarf_value_read(unit, &cursor, spec, &value);
		if (cursor.error == 0)
			store_attribute(unit, spec->attribute, &value, &entry);
	}
	if (entry.has_name)
		unit->name = dwarf_value_text(unit, &entry.name);
	if (entry.has_folder)
		unit->folder = dwarf_value_text(unit, &entry.folder);
	if (entry.has_split_name)
		unit->split_name = dwarf_value_text(unit, &entry.split_name);
	if (entry.has_low)
		(void)dwarf_value_address(unit, &entry.low, &unit->low_pc);
	unit->was_read = true;
	return cursor.error < 0 ? -EBADMSG : 0;
}
