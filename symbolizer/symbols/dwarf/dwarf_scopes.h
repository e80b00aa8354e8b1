/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * For functions without a linkage name: the namespace, class or function in which they are
 * declared. An entry of DWARF has no reference to its parent, so dwarf_walk.c records the scopes
 * while it walks the units.
 */

#include "symbolizer/symbols/dwarf/dwarf_file.h"

#define NO_SCOPE UINT32_MAX

struct dwarf_scope {
	dwarf_ref entry;
	uint32_t parent; /* index in dwarf_scopes.scopes; NO_SCOPE: the parent is the unit */
};

struct scoped_function {
	dwarf_ref entry;
	uint32_t scope; /* index in dwarf_scopes.scopes */
};

VEC_DEFINE(dwarf_scope_vec, struct dwarf_scope);
VEC_DEFINE(scoped_function_vec, struct scoped_function);

struct dwarf_scopes {
	struct dwarf_scope_vec scopes;
	struct scoped_function_vec functions;
};

void dwarf_scopes_release(struct dwarf_scopes *scopes);

/* Sorts the functions; to be called after the walk and before dwarf_scopes_find(). */
void dwarf_scopes_sort(struct dwarf_scopes *scopes);

/* Returns the scope of the function @entry, or NO_SCOPE; @scopes may be NULL. */
uint32_t dwarf_scopes_find(const struct dwarf_scopes *scopes, dwarf_ref entry);
