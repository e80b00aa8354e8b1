/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Tables of .debug_abbrev, with a plan for each shape of entry how to get over it without looking
 * at its attributes: most entries are types and variables, which nobody asks for here.
 */

#include "common/vec.h"
#include "symbolizer/symbols/dwarf/dwarf_cursor.h"

struct dwarf_spec {
	uint16_t attribute;
	uint16_t form;
	int64_t implicit; /* DW_FORM_implicit_const */
};

/* A run of bytes, or something whose length is told by its first bytes. */
enum dwarf_step_kind {
	STEP_BYTES,
	STEP_LEB,
	STEP_TEXT,
	STEP_BLOCK1,
	STEP_BLOCK2,
	STEP_BLOCK4,
	STEP_BLOCK_LEB,
	STEP_INDIRECT,
};

struct dwarf_step {
	uint16_t kind;
	uint16_t bytes;
};

struct dwarf_abbrev {
	uint16_t tag; /* 0: no such code */
	bool has_children;
	bool has_code;    /* DW_AT_low_pc or DW_AT_ranges */
	bool has_linkage; /* a linkage name, or a reference to an entry that may have one */
	uint8_t n_steps;
	uint16_t n_specs;
	uint32_t first_spec;
	uint32_t first_step;
};

VEC_DEFINE(dwarf_spec_vec, struct dwarf_spec);
VEC_DEFINE(dwarf_step_vec, struct dwarf_step);
VEC_DEFINE(dwarf_abbrev_vec, struct dwarf_abbrev);

/* What the length of a form depends on. */
struct dwarf_widths {
	uint8_t address_size;
	uint8_t offset_size;
	uint8_t ref_addr_size; /* an address in DWARF 2 */
};

struct dwarf_abbrev_table {
	uint64_t offset;
	struct dwarf_widths widths;
	bool is_used;
	struct dwarf_abbrev_vec by_code; /* code 0 is not one */
	struct dwarf_spec_vec specs;
	struct dwarf_step_vec steps;
};

/* Reads the table at @offset. 0, -EBADMSG, -ENOMEM. */
int dwarf_abbrev_table_read(struct dwarf_abbrev_table *table, struct bytes_view section,
			    uint64_t offset, struct dwarf_widths widths);
void dwarf_abbrev_table_release(struct dwarf_abbrev_table *table);

/* Bytes of @form; -1: told by its first bytes or by another form. */
int dwarf_form_bytes(uint16_t form, struct dwarf_widths widths);

/* Over one attribute. */
void dwarf_skip_form(struct dwarf_cursor *cursor, uint16_t form, struct dwarf_widths widths);

/* Over all attributes of an entry. */
static inline void dwarf_skip_entry(const struct dwarf_abbrev_table *table,
				    const struct dwarf_abbrev *abbrev, struct dwarf_cursor *cursor)
{
	for (unsigned int i = 0; i < abbrev->n_steps; i++) {
		const struct dwarf_step *step = &table->steps.items[abbrev->first_step + i];

		switch (step->kind) {
		case STEP_BYTES:
			dwarf_skip(cursor, step->bytes);
			break;
		case STEP_LEB:
			dwarf_skip_leb(cursor);
			break;
		case STEP_TEXT:
			(void)dwarf_text(cursor);
			break;
		case STEP_BLOCK1:
			dwarf_skip(cursor, dwarf_u8(cursor));
			break;
		case STEP_BLOCK2:
			dwarf_skip(cursor, dwarf_u16(cursor));
			break;
		case STEP_BLOCK4:
			dwarf_skip(cursor, dwarf_u32(cursor));
			break;
		case STEP_BLOCK_LEB:
			dwarf_skip(cursor, dwarf_uleb(cursor));
			break;
		default:
			dwarf_skip_form(cursor, (uint16_t)dwarf_uleb(cursor), table->widths);
			break;
		}
	}
}
