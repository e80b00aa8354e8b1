/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The DWARF of one file: its sections, its units, and the attributes of entries. Versions 2 to 5,
 * 32 and 64 bits; the forms of split DWARF and of dwz.
 *
 * Units are found by walking .debug_info, never by .debug_aranges, which clang and rustc do not
 * write. Owned by one thread. Nothing in it is trusted: offsets are checked where they are used.
 */

#include "common/vec.h"
#include "symbolizer/symbols/dwarf/dwarf_abbrev.h"
#include "symbolizer/symbols/elf/elf_image.h"

struct dwarf_file;

/*
 * An entry, wherever it is: the file (dwarf_file.index) in the highest bits, then whether it is in
 * .debug_types, then the offset in its section.
 */
typedef uint64_t dwarf_ref;

#define DWARF_NO_REF        UINT64_MAX
#define DWARF_REF_TYPES     (UINT64_C(1) << 60)
#define DWARF_REF_FILE(r)   ((unsigned int)((r) >> 61))
#define DWARF_REF_OFFSET(r) ((r) & (DWARF_REF_TYPES - 1))

enum dwarf_file_index {
	DWARF_MAIN,
	DWARF_ALT,   /* what dwz shares */
	DWARF_SPLIT, /* .dwp or .dwo */
	N_DWARF_FILES,
};

struct dwarf_unit {
	struct dwarf_file *file;
	bool in_types;
	bool is_type;  /* a type unit */
	bool was_read; /* what follows the header's fields here */
	bool has_lines;
	uint8_t version;
	uint8_t unit_type; /* DW_UT_*; 0 before DWARF 5 */
	struct dwarf_widths widths;
	uint64_t start;   /* of its header, in its section */
	uint64_t entries; /* of its first entry */
	uint64_t end;
	uint64_t abbrev_offset;
	uint64_t id;          /* dwo_id, or a type's signature */
	uint64_t type_offset; /* of a type unit, from start */
	/* Of its first entry: */
	uint16_t language;
	uint64_t low_pc;
	uint64_t line_offset;
	uint64_t str_offsets_base;
	uint64_t addr_base;
	uint64_t rnglists_base;
	uint64_t ranges_base; /* of GNU's split DWARF 4 */
	const char *name;
	const char *folder;          /* DW_AT_comp_dir */
	const char *split_name;      /* DW_AT_dwo_name */
	struct dwarf_unit *skeleton; /* of a split unit: where its addresses and lines are */
};

VEC_DEFINE(dwarf_unit_vec, struct dwarf_unit);

struct dwarf_unit_id {
	uint64_t id;
	uint32_t unit; /* its place among the units */
	bool is_type;
};

VEC_DEFINE(dwarf_unit_id_vec, struct dwarf_unit_id);

/* What a .dwp says of one unit: where its parts of the sections begin. */
struct dwarf_parts {
	uint64_t info;
	uint64_t types;
	uint64_t abbrev;
	uint64_t str_offsets;
	uint64_t rnglists;
};

VEC_DEFINE(dwarf_parts_vec, struct dwarf_parts);

/* Tables of abbreviations that stay at hand: units of one compilation share one, references go
 * back and forth between a few. */
#define ABBREV_TABLES 64

struct dwarf_file {
	enum dwarf_file_index index;
	struct elf_image *image;
	struct bytes_view info, types, abbrev, str, line, line_str, ranges, rnglists, addr,
		str_offsets;
	struct dwarf_unit_vec units;  /* by (in_types, start) */
	struct dwarf_unit_id_vec ids; /* those that have one, by (is_type, id, unit) */
	struct dwarf_parts_vec parts;
	struct dwarf_file *files[N_DWARF_FILES]; /* those that there are, this one too */
	struct dwarf_abbrev_table tables[ABBREV_TABLES];
};

/* Reads the sections and the headers of all units. 1 there is DWARF, 0 none, -EBADMSG, -EFBIG,
 * -ENOMEM. Release also after an error. */
int dwarf_file_open(struct dwarf_file *file, enum dwarf_file_index index, struct elf_image *image);
void dwarf_file_release(struct dwarf_file *file);

/* Reads the unit's first entry, unless that was done. 0, -EBADMSG, -ENOMEM. */
int dwarf_unit_read(struct dwarf_unit *unit);

/* The unit around a reference, or NULL. */
struct dwarf_unit *dwarf_unit_at(struct dwarf_file *file, dwarf_ref ref);

/*
 * Split units of DWARF 4 have their id in the first entry: to be called once those are read. 0 or
 * -ENOMEM.
 */
int dwarf_file_sort_ids(struct dwarf_file *file);

/* The first unit of this type signature (@is_type) or dwo_id, or NULL. */
struct dwarf_unit *dwarf_unit_by_id(struct dwarf_file *file, uint64_t id, bool is_type);

/* *ret_table lives until ABBREV_TABLES others were asked for. */
int dwarf_unit_abbrevs(const struct dwarf_unit *unit, const struct dwarf_abbrev_table **ret_table);

static inline dwarf_ref dwarf_ref_of(const struct dwarf_unit *unit, uint64_t offset)
{
	return (uint64_t)unit->file->index << 61 | (unit->in_types ? DWARF_REF_TYPES : 0) | offset;
}

static inline struct bytes_view dwarf_unit_section(const struct dwarf_unit *unit)
{
	return unit->in_types ? unit->file->types : unit->file->info;
}

/* A cursor over the unit's entries from @offset in its section. */
static inline struct dwarf_cursor dwarf_unit_cursor(const struct dwarf_unit *unit, uint64_t offset)
{
	struct bytes_view section = dwarf_unit_section(unit);

	section.size = (size_t)unit->end;
	return dwarf_cursor_at(section, offset);
}

/* An attribute, as it stands there. */
struct dwarf_value {
	uint16_t form; /* never DW_FORM_indirect */
	uint64_t number;
	const char *text; /* DW_FORM_string */
};

void dwarf_value_read(const struct dwarf_unit *unit, struct dwarf_cursor *cursor,
		      const struct dwarf_spec *spec, struct dwarf_value *ret_value);

/* What it means. NULL, false or DWARF_NO_REF where it does not mean that. */
const char *dwarf_value_text(const struct dwarf_unit *unit, const struct dwarf_value *value);
dwarf_ref dwarf_value_ref(const struct dwarf_unit *unit, const struct dwarf_value *value);
bool dwarf_value_address(const struct dwarf_unit *unit, const struct dwarf_value *value,
			 uint64_t *ret_address);
bool dwarf_value_is_address(const struct dwarf_value *value);

/* Address @index of the unit's .debug_addr. */
bool dwarf_unit_address(const struct dwarf_unit *unit, uint64_t index, uint64_t *ret_address);

/* What a function or an inlined one says of itself. */
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
	dwarf_ref signature; /* of a type that is described in a type unit */
	uint64_t call_file;
	uint64_t call_line;
};

/* Reads the attributes behind the code of an entry. */
void dwarf_function_read(const struct dwarf_unit *unit, const struct dwarf_abbrev_table *table,
			 const struct dwarf_abbrev *abbrev, struct dwarf_cursor *cursor,
			 struct dwarf_function *ret_function);

/* The same of any entry. 1 read, 0 there is none. */
int dwarf_function_at(struct dwarf_file *file, dwarf_ref ref, struct dwarf_unit **ret_unit,
		      struct dwarf_function *ret_function);

struct dwarf_range {
	uint64_t low;
	uint64_t high;
};

VEC_DEFINE(dwarf_range_vec, struct dwarf_range);

/* dwarf_ranges.c: appends the ranges of a function that are not empty. 0, -EFBIG beyond
 * @max_ranges in the vector, -ENOMEM. A damaged list ends where the damage is. */
int dwarf_ranges_read(const struct dwarf_unit *unit, const struct dwarf_function *function,
		      size_t max_ranges, struct dwarf_range_vec *ranges);

/* dwarf_package.c: the parts of units in a .dwp. */
int dwarf_parts_read(struct dwarf_file *file);
const struct dwarf_parts *dwarf_parts_of(const struct dwarf_file *file, bool in_types,
					 uint64_t start);
