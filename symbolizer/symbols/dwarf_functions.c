/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Subprograms of DWARF, for functions that the symbol tables lack (strip -x, hidden symbols). Units
 * are walked one after the other; .debug_aranges is not used, because clang and rustc do not write
 * it. Files are hostile: every entry takes at least one byte, so that more entries than .debug_info
 * has bytes are a loop; scopes and references are bounded; forms that would make libdw open another
 * file (dwz's, split DWARF's) are not followed.
 */

#include <dwarf.h>
#include <elfutils/libdw.h>

#include "symbolizer/symbols/function_source.h"
#include "symbolizer/symbols/symbol_limits.h"

struct dwarf_walk {
	struct function_source *source;
	uint64_t entries_left;
	uint64_t ranges_left;
};

/* Whether reading the attribute would open the file that .gnu_debugaltlink names. */
static bool is_in_other_file(Dwarf_Attribute *attribute)
{
	unsigned int form = dwarf_whatform(attribute);

	return form == DW_FORM_GNU_ref_alt || form == DW_FORM_GNU_strp_alt ||
	       form == DW_FORM_ref_sup4 || form == DW_FORM_ref_sup8 || form == DW_FORM_strp_sup;
}

static const char *text_attribute(Dwarf_Die *die, unsigned int name)
{
	Dwarf_Attribute attribute;

	if (!dwarf_attr(die, name, &attribute) || is_in_other_file(&attribute))
		return NULL;
	return dwarf_formstring(&attribute);
}

/* Moves @die to what it is an instance of. */
static bool follow_origin(Dwarf_Die *die)
{
	Dwarf_Attribute attribute;
	Dwarf_Die origin;

	if (!dwarf_attr(die, DW_AT_abstract_origin, &attribute) &&
	    !dwarf_attr(die, DW_AT_specification, &attribute))
		return false;
	if (is_in_other_file(&attribute) || !dwarf_formref_die(&attribute, &origin))
		return false;
	*die = origin;
	return true;
}

/* The linkage name of the subprogram or of what it is an instance of; else its plain name; or NULL.
 */
static const char *subprogram_name(const Dwarf_Die *subprogram)
{
	Dwarf_Die die = *subprogram;
	const char *plain = NULL;

	for (int i = 0; i < DIE_MAX_ORIGINS; i++) {
		const char *linkage = text_attribute(&die, DW_AT_linkage_name);

		if (!linkage)
			linkage = text_attribute(&die, DW_AT_MIPS_linkage_name);
		if (linkage)
			return linkage;
		if (!plain)
			plain = text_attribute(&die, DW_AT_name);
		if (!follow_origin(&die))
			break;
	}
	return plain;
}

static int add_range(struct dwarf_walk *walk, const char *name, uint64_t low, uint64_t high)
{
	const struct code_section *section;

	if (walk->ranges_left-- == 0 || walk->source->functions.count >= SYMBOLS_MAX)
		return -EFBIG;
	/* The linker sets the addresses of functions it dropped to 0 or to the highest ones. */
	section = low > 0 && low < high ? code_section_at(&walk->source->code, low) : NULL;
	if (!section)
		return 0;
	return vec_push(&walk->source->functions, (struct function_candidate){
							  .start = low,
							  .size = MIN(high, section->end) - low,
							  .limit = section->end,
							  .name = name,
							  .dwarf = true,
						  });
}

static int add_subprogram(struct dwarf_walk *walk, Dwarf_Die *die)
{
	Dwarf_Addr base, low, high;
	ptrdiff_t offset = 0;
	const char *name = NULL;

	while ((offset = dwarf_ranges(die, offset, &base, &low, &high)) > 0) {
		int r;

		if (!name)
			name = subprogram_name(die);
		if (!name || name[0] == '\0')
			return 0;
		r = add_range(walk, name, low, high);
		if (r < 0)
			return r;
	}
	return 0;
}

/* Where a subprogram may stand. Inlined ones have no code of their own. */
static bool is_scope(int tag)
{
	switch (tag) {
	case DW_TAG_compile_unit:
	case DW_TAG_partial_unit:
	case DW_TAG_namespace:
	case DW_TAG_module:
	case DW_TAG_class_type:
	case DW_TAG_structure_type:
	case DW_TAG_union_type:
	case DW_TAG_subprogram:
	case DW_TAG_lexical_block:
		return true;
	default:
		return false;
	}
}

static int walk_children(struct dwarf_walk *walk, Dwarf_Die *parent, unsigned int depth)
{
	Dwarf_Die die;
	int r;

	if (depth > DIE_MAX_DEPTH)
		return 0;
	if (dwarf_haschildren(parent) <= 0 || dwarf_child(parent, &die) != 0)
		return 0;
	do {
		int tag = dwarf_tag(&die);

		if (walk->entries_left-- == 0)
			return -ELOOP;
		r = tag == DW_TAG_subprogram ? add_subprogram(walk, &die) : 0;
		if (r == 0 && is_scope(tag))
			r = walk_children(walk, &die, depth + 1);
		if (r < 0)
			return r;
	} while (dwarf_siblingof(&die, &die) == 0);
	return 0;
}

static int walk_units(struct dwarf_walk *walk, Dwarf *dwarf)
{
	Dwarf_CU *unit = NULL;
	Dwarf_Die unit_die;
	int r;

	/* No sub-unit is asked for: libdw would look for a .dwo file at a path that the file names.
	 */
	while ((r = dwarf_get_units(dwarf, unit, &unit, NULL, NULL, &unit_die, NULL)) == 0) {
		r = walk_children(walk, &unit_die, 0);
		if (r < 0)
			return r;
	}
	return r < 0 ? -EBADMSG : 0;
}

int function_source_read_dwarf(struct function_source *source)
{
	struct dwarf_walk walk = {
		.source = source,
		.entries_left = source->debug_info_bytes,
		.ranges_left = SYMBOLS_MAX,
	};

	/* Kept open by the source: names are libdw's. */
	source->dwarf = dwarf_begin_elf(source->elf, DWARF_C_READ, NULL);
	if (!source->dwarf)
		return -EBADMSG;
	return walk_units(&walk, source->dwarf);
}
