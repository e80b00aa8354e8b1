/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The DWARF of one file: its sections, its units, and the attributes of entries. Versions 2 to 5,
 * 32-bit and 64-bit format, with the forms of split DWARF and of dwz.
 *
 * Units are found by walking .debug_info. .debug_aranges is not read, because clang and rustc do
 * not write it. Offsets in the file are not trusted: each is checked when it is used. Owned by one
 * thread.
 */

#include "common/vec.h"
#include "symbolizer/symbols/dwarf/dwarf_abbrev.h"
#include "symbolizer/symbols/elf/elf_image.h"

struct dwarf_file;

/*
 * Identifies an entry (DIE) in any of the files. Bits 61 to 63: dwarf_file.index; bit 60: it is in
 * .debug_types; bits 0 to 59: its offset in the section.
 */
typedef uint64_t dwarf_ref;

#define DWARF_NO_REF        UINT64_MAX
#define DWARF_REF_TYPES     (UINT64_C(1) << 60)
#define DWARF_REF_FILE(r)   ((unsigned int)((r) >> 61))
#define DWARF_REF_OFFSET(r) ((r) & (DWARF_REF_TYPES - 1))

enum dwarf_file_index {
	DWARF_MAIN,
	DWARF_ALT,   /* the file that dwz moved shared entries and strings to */
	DWARF_SPLIT, /* .dwp or .dwo */
	N_DWARF_FILES,
};

struct dwarf_unit {
	struct dwarf_file *file;
	bool in_types;
	bool is_type;  /* a type unit */
	bool was_read; /* the fields of the first entry are set */
	bool has_lines;
	uint8_t version;
	uint8_t unit_type; /* DW_UT_*; 0 before DWARF 5 */
	struct dwarf_widths widths;
	uint64_t start;   /* offset of its header in its section */
	uint64_t entries; /* offset of its first entry */
	uint64_t end;
	uint64_t abbrev_offset;
	uint64_t id;          /* dwo_id, or the signature of a type unit */
	uint64_t type_offset; /* of the type in a type unit, from start */
	/* From its first entry, read by dwarf_unit_read(): */
	uint16_t language;
	uint64_t low_pc;
	uint64_t line_offset;
	uint64_t str_offsets_base;
	uint64_t addr_base;
	uint64_t rnglists_base;
	uint64_t ranges_base; /* DW_AT_GNU_ranges_base of split DWARF 4 */
	const char *name;
	const char *folder;     /* DW_AT_comp_dir */
	const char *split_name; /* DW_AT_dwo_name */
	/* Of a split unit: the unit of the main file that has its addresses and lines. */
	struct dwarf_unit *skeleton;
};

VEC_DEFINE(dwarf_unit_vec, struct dwarf_unit);

struct dwarf_unit_id {
	uint64_t id;
	uint32_t unit; /* index in dwarf_file.units */
	bool is_type;
};

VEC_DEFINE(dwarf_unit_id_vec, struct dwarf_unit_id);

/* Offsets at which the parts of one unit begin in the sections of a .dwp. */
struct dwarf_parts {
	uint64_t info;
	uint64_t types;
	uint64_t abbrev;
	uint64_t str_offsets;
	uint64_t rnglists;
};

VEC_DEFINE(dwarf_parts_vec, struct dwarf_parts);

/* Abbreviation tables that are cached. Units of one compilation share a table, and references go
 * back and forth between a few units. */
#define ABBREV_TABLES 64

struct dwarf_file {
	enum dwarf_file_index index;
	struct elf_image *image;
	struct bytes_view info, types, abbrev, str, line, line_str, ranges, rnglists, addr,
		str_offsets;
	struct dwarf_unit_vec units;  /* sorted by (in_types, start) */
	struct dwarf_unit_id_vec ids; /* units with an id, sorted by (is_type, id, unit) */
	struct dwarf_parts_vec parts; /* of a .dwp, sorted */
	/* All files that are open, this one included; else NULL. */
	struct dwarf_file *files[N_DWARF_FILES];
	struct dwarf_abbrev_table tables[ABBREV_TABLES];
};

/*
 * Reads the sections and the headers of all units. Returns 1, or 0 if the file has no DWARF;
 * -EBADMSG, -EFBIG, -ENOMEM. The caller releases @file also after an error.
 */
int dwarf_file_open(struct dwarf_file *file, enum dwarf_file_index index, struct elf_image *image);
void dwarf_file_release(struct dwarf_file *file);

/* Reads the unit's first entry, if it has not been read yet. Returns 0, -EBADMSG, -ENOMEM. */
int dwarf_unit_read(struct dwarf_unit *unit);

/* Returns the unit that contains the entry @ref, or NULL. */
struct dwarf_unit *dwarf_unit_at(struct dwarf_file *file, dwarf_ref ref);

/*
 * Sorts the ids of units. Called again after the first entries of split units were read, because
 * split units of DWARF 4 have their id there. Returns 0 or -ENOMEM.
 */
int dwarf_file_sort_ids(struct dwarf_file *file);

/* Returns the first unit with this dwo_id, or with this type signature if @is_type; or NULL. */
struct dwarf_unit *dwarf_unit_by_id(struct dwarf_file *file, uint64_t id, bool is_type);

/* Finds the abbreviations of @unit, valid until the next call for a unit of the same file. */
int dwarf_unit_abbrevs(const struct dwarf_unit *unit, const struct dwarf_abbrev_table **ret_table);

static inline dwarf_ref dwarf_ref_of(const struct dwarf_unit *unit, uint64_t offset)
{
	return (uint64_t)unit->file->index << 61 | (unit->in_types ? DWARF_REF_TYPES : 0) | offset;
}

static inline struct bytes_view dwarf_unit_section(const struct dwarf_unit *unit)
{
	return unit->in_types ? unit->file->types : unit->file->info;
}

/* Returns a cursor over the unit's entries from @offset in its section. */
static inline struct bytes_reader dwarf_unit_cursor(const struct dwarf_unit *unit, uint64_t offset)
{
	struct bytes_view section = dwarf_unit_section(unit);

	section.size = (size_t)unit->end;
	return cursor_at(section, offset);
}

/* The value of an attribute, not yet interpreted. */
struct dwarf_value {
	uint16_t form; /* never DW_FORM_indirect */
	uint64_t number;
	const char *text; /* DW_FORM_string */
};

void dwarf_value_read(const struct dwarf_unit *unit, struct bytes_reader *cursor,
		      const struct dwarf_spec *spec, struct dwarf_value *ret_value);

/*
 * Return the string, entry or address that a value stands for. NULL, DWARF_NO_REF or false if its
 * form is another one or an offset in it lies outside of its section.
 */
const char *dwarf_value_text(const struct dwarf_unit *unit, const struct dwarf_value *value);
dwarf_ref dwarf_value_ref(const struct dwarf_unit *unit, const struct dwarf_value *value);
bool dwarf_value_address(const struct dwarf_unit *unit, const struct dwarf_value *value,
			 uint64_t *ret_address);
bool dwarf_value_is_address(const struct dwarf_value *value);

/* Reads address @index of the unit's .debug_addr. */
bool dwarf_unit_address(const struct dwarf_unit *unit, uint64_t index, uint64_t *ret_address);

/* Attributes of a function or an inlined function. */
struct dwarf_function {
	uint16_t tag;
	bool has_low;
	bool has_high;
	bool has_ranges;
	bool is_declaration;
	struct dwarf_value low;
	struct dwarf_value high;
	struct dwarf_value ranges;
	const char *name;
	const char *linkage_name;
	dwarf_ref origin;    /* DW_AT_abstract_origin, DW_AT_specification, or DWARF_NO_REF */
	dwarf_ref signature; /* DW_AT_signature: the type's entry in a type unit, or DWARF_NO_REF */
	uint64_t call_file;
	uint64_t call_line;
	uint64_t decl_line; /* 0: not known */
};

/* Reads the attributes of an entry; @cursor stands behind its abbreviation code. */
void dwarf_function_read(const struct dwarf_unit *unit, const struct dwarf_abbrev_table *table,
			 const struct dwarf_abbrev *abbrev, struct bytes_reader *cursor,
			 struct dwarf_function *ret_function);

/* The same for the entry @ref. Returns 1, or 0 if there is no valid entry. */
int dwarf_function_at(struct dwarf_file *file, dwarf_ref ref, struct dwarf_unit **ret_unit,
		      struct dwarf_function *ret_function);

struct dwarf_range {
	uint64_t low;
	uint64_t high;
};

VEC_DEFINE(dwarf_range_vec, struct dwarf_range);

/*
 * dwarf_ranges.c: appends the non-empty address ranges of a function. A damaged list ends at the
 * damage. Returns 0, -EFBIG if @ranges would get more than @max_ranges, -ENOMEM.
 */
int dwarf_ranges_read(const struct dwarf_unit *unit, const struct dwarf_function *function,
		      size_t max_ranges, struct dwarf_range_vec *ranges);

/* dwarf_package.c: reads the offsets of the units' parts in a .dwp; finds those of one unit. */
int dwarf_parts_read(struct dwarf_file *file);
const struct dwarf_parts *dwarf_parts_of(const struct dwarf_file *file, bool in_types,
					 uint64_t start);
