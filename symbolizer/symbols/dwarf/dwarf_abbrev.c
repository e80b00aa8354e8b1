/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/symbols/dwarf/dwarf_abbrev.h"

#include <dwarf.h>

/* Highest code. Compilers number abbreviations from 1 without gaps. */
#define CODES_MAX (1u << 20)

/* Attributes of one abbreviation. Compilers write at most about 30. */
#define SPECS_MAX 200

int dwarf_form_bytes(uint16_t form, struct dwarf_widths widths)
{
	switch (form) {
	case DW_FORM_flag_present:
	case DW_FORM_implicit_const:
		return 0;
	case DW_FORM_data1:
	case DW_FORM_flag:
	case DW_FORM_ref1:
	case DW_FORM_strx1:
	case DW_FORM_addrx1:
		return 1;
	case DW_FORM_data2:
	case DW_FORM_ref2:
	case DW_FORM_strx2:
	case DW_FORM_addrx2:
		return 2;
	case DW_FORM_strx3:
	case DW_FORM_addrx3:
		return 3;
	case DW_FORM_data4:
	case DW_FORM_ref4:
	case DW_FORM_ref_sup4:
	case DW_FORM_strx4:
	case DW_FORM_addrx4:
		return 4;
	case DW_FORM_data8:
	case DW_FORM_ref8:
	case DW_FORM_ref_sig8:
	case DW_FORM_ref_sup8:
		return 8;
	case DW_FORM_data16:
		return 16;
	case DW_FORM_addr:
		return widths.address_size;
	case DW_FORM_ref_addr:
		return widths.ref_addr_size;
	case DW_FORM_strp:
	case DW_FORM_sec_offset:
	case DW_FORM_strp_sup:
	case DW_FORM_line_strp:
	case DW_FORM_GNU_ref_alt:
	case DW_FORM_GNU_strp_alt:
		return widths.offset_size;
	default:
		return -1;
	}
}

/* How to skip a form without a fixed size; -1 for an unknown form. */
static int step_kind(uint16_t form)
{
	switch (form) {
	case DW_FORM_sdata:
	case DW_FORM_udata:
	case DW_FORM_ref_udata:
	case DW_FORM_strx:
	case DW_FORM_addrx:
	case DW_FORM_loclistx:
	case DW_FORM_rnglistx:
	case DW_FORM_GNU_addr_index:
	case DW_FORM_GNU_str_index:
		return STEP_LEB;
	case DW_FORM_string:
		return STEP_TEXT;
	case DW_FORM_block1:
		return STEP_BLOCK1;
	case DW_FORM_block2:
		return STEP_BLOCK2;
	case DW_FORM_block4:
		return STEP_BLOCK4;
	case DW_FORM_block:
	case DW_FORM_exprloc:
		return STEP_BLOCK_LEB;
	case DW_FORM_indirect:
		return STEP_INDIRECT;
	default:
		return -1;
	}
}

void dwarf_skip_form(struct bytes_reader *cursor, uint16_t form, struct dwarf_widths widths)
{
	int bytes = dwarf_form_bytes(form, widths);

	if (bytes >= 0) {
		cursor_skip(cursor, (uint64_t)bytes);
		return;
	}
	/* An unknown form, or an indirect one within an indirect one, which no compiler writes. */
	if (!dwarf_skip_variable(cursor, step_kind(form)))
		(void)cursor_fail(cursor);
}

static int add_step(struct dwarf_abbrev_table *table, struct dwarf_abbrev *abbrev, uint16_t form)
{
	int bytes = dwarf_form_bytes(form, table->widths);
	int kind = bytes >= 0 ? STEP_BYTES : step_kind(form);
	struct dwarf_step *last;

	if (kind < 0)
		return -EBADMSG;
	if (bytes == 0)
		return 0;
	last = abbrev->n_steps > 0 ? &table->steps.items[table->steps.count - 1] : NULL;
	if (kind == STEP_BYTES && last && last->kind == STEP_BYTES) {
		last->bytes = (uint16_t)(last->bytes + bytes);
		return 0;
	}
	abbrev->n_steps++;
	return vec_push(&table->steps,
			(struct dwarf_step){ .kind = (uint16_t)kind,
					     .bytes = (uint16_t)(bytes > 0 ? bytes : 0) });
}

static void note_attribute(struct dwarf_abbrev *abbrev, uint64_t attribute)
{
	switch (attribute) {
	case DW_AT_low_pc:
	case DW_AT_ranges:
		abbrev->has_code = true;
		break;
	case DW_AT_linkage_name:
	case DW_AT_MIPS_linkage_name:
	case DW_AT_abstract_origin:
	case DW_AT_specification:
		abbrev->has_linkage = true;
		break;
	default:
		break;
	}
}

static int read_specs(struct dwarf_abbrev_table *table, struct dwarf_abbrev *abbrev,
		      struct bytes_reader *cursor)
{
	for (;;) {
		uint64_t attribute = cursor_uleb(cursor);
		uint64_t form = cursor_uleb(cursor);
		int64_t implicit = form == DW_FORM_implicit_const ? cursor_sleb(cursor) : 0;
		int r;

		if (cursor->error < 0 || attribute > UINT16_MAX || form > UINT16_MAX)
			return -EBADMSG;
		if (attribute == 0 && form == 0)
			return 0;
		if (abbrev->n_specs == SPECS_MAX)
			return -EBADMSG;
		abbrev->n_specs++;
		note_attribute(abbrev, attribute);
		r = vec_push(&table->specs, (struct dwarf_spec){ .attribute = (uint16_t)attribute,
								 .form = (uint16_t)form,
								 .implicit = implicit });
		if (r < 0)
			return r;
		r = add_step(table, abbrev, (uint16_t)form);
		if (r < 0)
			return r;
	}
}

static int store(struct dwarf_abbrev_table *table, uint64_t code, const struct dwarf_abbrev *abbrev)
{
	/* The second bound keeps a few large codes from allocating CODES_MAX entries. */
	if (code > CODES_MAX || code > table->by_code.count * 4 + 1024)
		return -EBADMSG;
	while (table->by_code.count <= code) {
		int r = vec_push(&table->by_code, (struct dwarf_abbrev){});

		if (r < 0)
			return r;
	}
	table->by_code.items[code] = *abbrev;
	return 0;
}

int dwarf_abbrev_table_read(struct dwarf_abbrev_table *table, struct bytes_view section,
			    uint64_t offset, struct dwarf_widths widths)
{
	struct bytes_reader cursor = cursor_at(section, offset);
	uint64_t code;

	vec_clear(&table->by_code);
	vec_clear(&table->specs);
	vec_clear(&table->steps);
	table->offset = offset;
	table->widths = widths;
	while ((code = cursor_uleb(&cursor)) != 0) {
		struct dwarf_abbrev abbrev = {
			.first_spec = (uint32_t)table->specs.count,
			.first_step = (uint32_t)table->steps.count,
		};
		uint64_t tag = cursor_uleb(&cursor);
		int r;

		abbrev.has_children = cursor_u8(&cursor) != 0;
		if (cursor.error < 0 || tag > UINT16_MAX)
			return -EBADMSG;
		abbrev.tag = (uint16_t)tag;
		r = read_specs(table, &abbrev, &cursor);
		if (r == 0)
			r = store(table, code, &abbrev);
		if (r < 0)
			return r;
	}
	return cursor.error < 0 ? -EBADMSG : 0;
}

void dwarf_abbrev_table_release(struct dwarf_abbrev_table *table)
{
	vec_release(&table->by_code);
	vec_release(&table->specs);
	vec_release(&table->steps);
}
