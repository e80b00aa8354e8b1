/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads values of attributes and resolves them by their form: strings, references and addresses.
 */

#include <dwarf.h>

#include "symbolizer/symbols/dwarf/dwarf_file.h"

static void read_form(const struct dwarf_unit *unit, struct bytes_reader *cursor,
		      struct dwarf_value *value)
{
	int bytes = dwarf_form_bytes(value->form, unit->widths);

	if (bytes > 8) {
		cursor_skip(cursor, (uint64_t)bytes);
		return;
	}
	if (bytes >= 0) {
		value->number = cursor_fixed(cursor, (size_t)bytes);
		return;
	}
	switch (value->form) {
	case DW_FORM_sdata:
		value->number = (uint64_t)cursor_sleb(cursor);
		break;
	case DW_FORM_udata:
	case DW_FORM_ref_udata:
	case DW_FORM_strx:
	case DW_FORM_addrx:
	case DW_FORM_loclistx:
	case DW_FORM_rnglistx:
	case DW_FORM_GNU_addr_index:
	case DW_FORM_GNU_str_index:
		value->number = cursor_uleb(cursor);
		break;
	case DW_FORM_string:
		value->text = cursor_text(cursor);
		break;
	default:
		dwarf_skip_form(cursor, value->form, unit->widths);
		break;
	}
}

void dwarf_value_read(const struct dwarf_unit *unit, struct bytes_reader *cursor,
		      const struct dwarf_spec *spec, struct dwarf_value *ret_value)
{
	*ret_value = (struct dwarf_value){ .form = spec->form };
	switch (spec->form) {
	case DW_FORM_implicit_const:
		ret_value->number = (uint64_t)spec->implicit;
		return;
	case DW_FORM_flag_present:
		ret_value->number = 1;
		return;
	case DW_FORM_indirect:
		ret_value->form = (uint16_t)cursor_uleb(cursor);
		break;
	default:
		break;
	}
	read_form(unit, cursor, ret_value);
}

/* Returns string @index of the unit's .debug_str_offsets. */
static const char *indexed_text(const struct dwarf_unit *unit, uint64_t index)
{
	const size_t width = unit->widths.offset_size;
	uint64_t offset;
	struct bytes_reader cursor;

	if (__builtin_mul_overflow(index, width, &offset) ||
	    __builtin_add_overflow(offset, unit->str_offsets_base, &offset))
		return NULL;
	cursor = cursor_at(unit->file->str_offsets, offset);
	if (cursor.error < 0 || cursor_left(&cursor) < width)
		return NULL;
	return text_at_offset(unit->file->str, cursor_fixed(&cursor, width));
}

const char *dwarf_value_text(const struct dwarf_unit *unit, const struct dwarf_value *value)
{
	const struct dwarf_file *alt = unit->file->files[DWARF_ALT];

	switch (value->form) {
	case DW_FORM_string:
		return value->text;
	case DW_FORM_strp:
		return text_at_offset(unit->file->str, value->number);
	case DW_FORM_line_strp:
		return text_at_offset(unit->file->line_str, value->number);
	case DW_FORM_GNU_strp_alt:
	case DW_FORM_strp_sup:
		return alt ? text_at_offset(alt->str, value->number) : NULL;
	case DW_FORM_strx:
	case DW_FORM_strx1:
	case DW_FORM_strx2:
	case DW_FORM_strx3:
	case DW_FORM_strx4:
	case DW_FORM_GNU_str_index:
		return indexed_text(unit, value->number);
	default:
		return NULL;
	}
}

static dwarf_ref type_ref(const struct dwarf_unit *unit, uint64_t signature)
{
	struct dwarf_unit *type = dwarf_unit_by_id(unit->file, signature, true);

	return type ? dwarf_ref_of(type, type->start + type->type_offset) : DWARF_NO_REF;
}

dwarf_ref dwarf_value_ref(const struct dwarf_unit *unit, const struct dwarf_value *value)
{
	switch (value->form) {
	case DW_FORM_ref1:
	case DW_FORM_ref2:
	case DW_FORM_ref4:
	case DW_FORM_ref8:
	case DW_FORM_ref_udata:
		if (value->number >= unit->end - unit->start)
			return DWARF_NO_REF;
		return dwarf_ref_of(unit, unit->start + value->number);
	case DW_FORM_ref_addr:
		if (value->number >= unit->file->info.size)
			return DWARF_NO_REF;
		return (uint64_t)unit->file->index << 61 | value->number;
	case DW_FORM_GNU_ref_alt:
	case DW_FORM_ref_sup4:
	case DW_FORM_ref_sup8:
		if (!unit->file->files[DWARF_ALT] ||
		    value->number >= unit->file->files[DWARF_ALT]->info.size)
			return DWARF_NO_REF;
		return (uint64_t)DWARF_ALT << 61 | value->number;
	case DW_FORM_ref_sig8:
		return type_ref(unit, value->number);
	default:
		return DWARF_NO_REF;
	}
}

bool dwarf_unit_address(const struct dwarf_unit *unit, uint64_t index, uint64_t *ret_address)
{
	const struct dwarf_unit *owner = unit->skeleton ? unit->skeleton : unit;
	const size_t width = owner->widths.address_size;
	struct bytes_reader cursor;
	uint64_t offset;

	if (__builtin_mul_overflow(index, width, &offset) ||
	    __builtin_add_overflow(offset, owner->addr_base, &offset))
		return false;
	cursor = cursor_at(owner->file->addr, offset);
	if (cursor.error < 0 || cursor_left(&cursor) < width)
		return false;
	*ret_address = cursor_fixed(&cursor, width);
	return true;
}

bool dwarf_value_is_address(const struct dwarf_value *value)
{
	switch (value->form) {
	case DW_FORM_addr:
	case DW_FORM_addrx:
	case DW_FORM_addrx1:
	case DW_FORM_addrx2:
	case DW_FORM_addrx3:
	case DW_FORM_addrx4:
	case DW_FORM_GNU_addr_index:
		return true;
	default:
		return false;
	}
}

bool dwarf_value_address(const struct dwarf_unit *unit, const struct dwarf_value *value,
			 uint64_t *ret_address)
{
	if (value->form == DW_FORM_addr) {
		*ret_address = value->number;
		return true;
	}
	return dwarf_value_is_address(value) &&
	       dwarf_unit_address(unit, value->number, ret_address);
}

static void store_attribute(const struct dwarf_unit *unit, uint16_t attribute,
			    const struct dwarf_value *value, struct dwarf_function *function)
{
	switch (attribute) {
	case DW_AT_low_pc:
		function->low = *value;
		function->has_low = true;
		break;
	case DW_AT_high_pc:
		function->high = *value;
		function->has_high = true;
		break;
	case DW_AT_ranges:
		function->ranges = *value;
		function->has_ranges = true;
		break;
	case DW_AT_name:
		function->name = dwarf_value_text(unit, value);
		break;
	case DW_AT_linkage_name:
	case DW_AT_MIPS_linkage_name:
		function->linkage_name = dwarf_value_text(unit, value);
		break;
	case DW_AT_abstract_origin:
	case DW_AT_specification:
		function->origin = dwarf_value_ref(unit, value);
		break;
	case DW_AT_signature:
		function->signature = dwarf_value_ref(unit, value);
		break;
	case DW_AT_call_file:
		function->call_file = value->number;
		break;
	case DW_AT_call_line:
		function->call_line = value->number;
		break;
	case DW_AT_decl_line:
		function->decl_line = value->number;
		break;
	case DW_AT_declaration:
		function->is_declaration = value->number != 0;
		break;
	default:
		break;
	}
}

void dwarf_function_read(const struct dwarf_unit *unit, const struct dwarf_abbrev_table *table,
			 const struct dwarf_abbrev *abbrev, struct bytes_reader *cursor,
			 struct dwarf_function *ret_function)
{
	*ret_function = (struct dwarf_function){
		.tag = abbrev->tag,
		.origin = DWARF_NO_REF,
		.signature = DWARF_NO_REF,
	};
	for (unsigned int i = 0; i < abbrev->n_specs; i++) {
		const struct dwarf_spec *spec = &table->specs.items[abbrev->first_spec + i];
		struct dwarf_value value;

		dwarf_value_read(unit, cursor, spec, &value);
		if (cursor->error < 0)
			return;
		store_attribute(unit, spec->attribute, &value, ret_function);
	}
}

int dwarf_function_at(struct dwarf_file *file, dwarf_ref ref, struct dwarf_unit **ret_unit,
		      struct dwarf_function *ret_function)
{
	const struct dwarf_abbrev_table *table;
	struct dwarf_unit *unit = ref == DWARF_NO_REF ? NULL : dwarf_unit_at(file, ref);
	struct bytes_reader cursor;
	uint64_t code;

	if (!unit || dwarf_unit_read(unit) < 0 || dwarf_unit_abbrevs(unit, &table) < 0)
		return 0;
	cursor = dwarf_unit_cursor(unit, DWARF_REF_OFFSET(ref));
	code = cursor_uleb(&cursor);
	if (code == 0 || code >= table->by_code.count || table->by_code.items[code].tag == 0)
		return 0;
	dwarf_function_read(unit, table, &table->by_code.items[code], &cursor, ret_function);
	*ret_unit = unit;
	return cursor.error < 0 ? 0 : 1;
}
