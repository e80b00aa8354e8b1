/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Tables of .debug_abbrev. Each abbreviation also has a list of steps with which an entry is
 * skipped without decoding its attributes: most entries are types and variables, which are not
 * needed here.
 */

#include "common/vec.h"
#include "common/elf/dwarf_cursor.h"

struct dwarf_spec {
	uint16_t attribute;
	uint16_t form;
	int64_t implicit; /* DW_FORM_implicit_const */
};

/* How to skip one or more attributes: a fixed number of bytes, or a length read from the entry. */
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
	uint16_t tag; /* 0: the table has no abbreviation of this code */
	bool has_children;
	bool has_code;    /* DW_AT_low_pc or DW_AT_ranges */
	bool has_linkage; /* it has a linkage name, or refers to an entry that may have one */
	uint8_t n_steps;
	uint16_t n_specs;
	uint32_t first_spec;
	uint32_t first_step;
};

VEC_DEFINE(dwarf_spec_vec, struct dwarf_spec);
VEC_DEFINE(dwarf_step_vec, struct dwarf_step);
VEC_DEFINE(dwarf_abbrev_vec, struct dwarf_abbrev);

/* Widths of the unit, on which the size of some forms depends. */
struct dwarf_widths {
	uint8_t address_size;
	uint8_t offset_size;
	uint8_t ref_addr_size; /* of DW_FORM_ref_addr: address_size in DWARF 2, else offset_size */
};

struct dwarf_abbrev_table {
	uint64_t offset;
	struct dwarf_widths widths;
	bool is_used;
	struct dwarf_abbrev_vec by_code; /* index is the code; code 0 is not used */
	struct dwarf_spec_vec specs;
	struct dwarf_step_vec steps;
};

/* Reads the table at @offset. Returns 0, -EBADMSG, -ENOMEM. */
int dwarf_abbrev_table_read(struct dwarf_abbrev_table *table, struct bytes_view section,
			    uint64_t offset, struct dwarf_widths widths);
void dwarf_abbrev_table_release(struct dwarf_abbrev_table *table);

/* Returns the size of @form in bytes, or -1 if it depends on the bytes in the entry. */
int dwarf_form_bytes(uint16_t form, struct dwarf_widths widths);

/* Moves the cursor behind an attribute of @form. */
void dwarf_skip_form(struct bytes_reader *cursor, uint16_t form, struct dwarf_widths widths);

/*
 * Moves the cursor behind an attribute whose bytes tell its size. Returns false if @kind is no such
 * kind of step: STEP_BYTES, STEP_INDIRECT or -1.
 */
static inline bool dwarf_skip_variable(struct bytes_reader *cursor, int kind)
{
	switch (kind) {
	case STEP_LEB:
		cursor_skip_leb(cursor);
		return true;
	case STEP_TEXT:
		(void)cursor_text(cursor);
		return true;
	case STEP_BLOCK1:
		cursor_skip(cursor, cursor_u8(cursor));
		return true;
	case STEP_BLOCK2:
		cursor_skip(cursor, cursor_u16(cursor));
		return true;
	case STEP_BLOCK4:
		cursor_skip(cursor, cursor_u32(cursor));
		return true;
	case STEP_BLOCK_LEB:
		cursor_skip(cursor, cursor_uleb(cursor));
		return true;
	default:
		return false;
	}
}

/* Moves the cursor behind all attributes of an entry. */
static inline void dwarf_skip_entry(const struct dwarf_abbrev_table *table,
				    const struct dwarf_abbrev *abbrev, struct bytes_reader *cursor)
{
	for (unsigned int i = 0; i < abbrev->n_steps; i++) {
		const struct dwarf_step *step = &table->steps.items[abbrev->first_step + i];

		if (step->kind == STEP_BYTES)
			cursor_skip(cursor, step->bytes);
		else if (!dwarf_skip_variable(cursor, step->kind))
			dwarf_skip_form(cursor, (uint16_t)cursor_uleb(cursor), table->widths);
	}
}
