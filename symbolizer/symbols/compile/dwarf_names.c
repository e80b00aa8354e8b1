/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/symbols/compile/dwarf_names.h"

#include <dwarf.h>

#include "symbolizer/symbols/compile/demangle.h"
#include "symbolizer/symbols/compile/table_builder.h"
#include "symbolizer/symbols/symbol_limits.h"

/* The names found at an entry or at its origins. */
struct found_name {
	const char *linkage;
	const char *name;
	uint32_t scope;      /* of the entry or an origin, or NO_SCOPE */
	uint32_t first_line; /* 0: not known */
};

/* Follows the origins of an entry: from an instance to its abstract function to its declaration. */
static void find_name(const struct dwarf_names *names, dwarf_ref entry, struct found_name *ret)
{
	*ret = (struct found_name){ .scope = NO_SCOPE };
	for (int i = 0; i < DIE_MAX_ORIGINS && entry != DWARF_NO_REF; i++) {
		struct dwarf_function function;
		struct dwarf_unit *unit;

		if (!dwarf_function_at(names->file, entry, &unit, &function))
			return;
		if (ret->first_line == 0)
			ret->first_line = (uint32_t)MIN(function.decl_line, (uint64_t)INT32_MAX);
		if (function.name && !ret->name)
			ret->name = function.name;
		if (function.linkage_name) {
			ret->linkage = function.linkage_name;
			return;
		}
		if (ret->scope == NO_SCOPE)
			ret->scope = dwarf_scopes_find(names->scopes, entry);
		entry = function.origin;
	}
}

static bool has_no_scopes(uint16_t language)
{
	switch (language) {
	case DW_LANG_C89:
	case DW_LANG_C:
	case DW_LANG_C99:
	case DW_LANG_C11:
	case DW_LANG_Go:
	case DW_LANG_Mips_Assembler:
		return true;
	default:
		return false;
	}
}

const char *dwarf_names_plain(const struct dwarf_names *names, dwarf_ref entry,
			      uint32_t *ret_first_line)
{
	const struct dwarf_unit *unit = dwarf_unit_at(names->file, entry);
	struct found_name found;
	const char *name;

	find_name(names, entry, &found);
	*ret_first_line = found.first_line;
	name = found.linkage;
	if (!name && unit && has_no_scopes(unit->language))
		name = found.name;
	return name && name[0] != '\0' ? name : NULL;
}

static const char *unnamed(uint16_t tag)
{
	switch (tag) {
	case DW_TAG_namespace:
		return "(anonymous namespace)";
	case DW_TAG_enumeration_type:
		return "{enum}";
	case DW_TAG_union_type:
		return "{union}";
	default:
		return "{class}";
	}
}

/* Appends the name of a function that is a scope. *ret_full: it is a linkage name, which includes
 * the scopes around. */
static int append_function_scope(const struct dwarf_names *names, dwarf_ref entry,
				 struct bytes *display, bool *ret_full)
{
	struct found_name found;

	find_name(names, entry, &found);
	*ret_full = found.linkage != NULL;
	if (found.linkage)
		return demangle_append(display, found.linkage, strlen(found.linkage));
	return bytes_append_text(display, found.name ? found.name : "{function}");
}

static int append_scope_name(const struct dwarf_names *names, dwarf_ref entry,
			     struct bytes *display, bool *ret_full)
{
	struct dwarf_function scope, type;
	struct dwarf_unit *unit;

	*ret_full = false;
	if (!dwarf_function_at(names->file, entry, &unit, &scope))
		return bytes_append_text(display, "?");
	if (scope.tag == DW_TAG_subprogram)
		return append_function_scope(names, entry, display, ret_full);
	if (!scope.name && scope.signature != DWARF_NO_REF &&
	    dwarf_function_at(names->file, scope.signature, &unit, &type))
		scope.name = type.name;
	return bytes_append_text(display, scope.name ? scope.name : unnamed(scope.tag));
}

/* Appends the names of @scope and the scopes around it, as "a::b::". */
static int append_scopes(const struct dwarf_names *names, uint32_t scope, unsigned int depth,
			 struct bytes *display)
{
	const struct dwarf_scope *found;
	struct bytes name = BYTES_INIT(DEMANGLED_NAME_MAX_BYTES);
	bool is_full;
	int r;

	if (scope == NO_SCOPE || depth > DIE_MAX_DEPTH)
		return 0;
	found = &names->scopes->scopes.items[scope];
	r = append_scope_name(names, found->entry, &name, &is_full);
	if (r == 0 && !is_full)
		r = append_scopes(names, found->parent, depth + 1, display);
	if (r == 0)
		r = bytes_append(display, name.data, name.size);
	if (r == 0)
		r = bytes_append_text(display, "::");
	bytes_release(&name);
	return r;
}

int dwarf_names_append(const struct dwarf_names *names, dwarf_ref entry, struct bytes *linkage,
		       struct bytes *display)
{
	struct found_name found;
	const char *text;
	int r;

	find_name(names, entry, &found);
	text = found.linkage ? found.linkage : found.name;
	if (!text || text[0] == '\0')
		return NAMES_NONE;
	r = bytes_append(linkage, text, strnlen(text, MANGLED_NAME_MAX_BYTES));
	if (r < 0 || found.linkage || found.scope == NO_SCOPE)
		return r < 0 ? r : NAMES_LINKAGE;

	r = append_scopes(names, found.scope, 0, display);
	if (r == -EFBIG) {
		/* The scopes are too long: the name alone is shown. */
		bytes_clear(display);
		r = 0;
	}
	if (r == 0)
		r = bytes_append_text(display, found.name);
	return r < 0 ? r : NAMES_BOTH;
}
