/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Where functions are declared that have no linkage name: in which namespace, class or function.
 * Entries of DWARF do not know what they are in, so that it is noted while units are walked.
 */

#include "symbolizer/symbols/dwarf/dwarf_file.h"

#define NO_SCOPE UINT32_MAX

struct dwarf_scope {
	dwarf_ref entry;
	uint32_t parent; /* NO_SCOPE: the unit */
};

struct scoped_function {
	dwarf_ref entry;
	uint32_t scope;
};

VEC_DEFINE(dwarf_scope_vec, struct dwarf_scope);
VEC_DEFINE(scoped_function_vec, struct scoped_function);

struct dwarf_scopes {
	struct dwarf_scope_vec scopes;
	struct scoped_function_vec functions;
};

void dwarf_scopes_release(struct dwarf_scopes *scopes);

/* After the walk, before the first question. */
void dwarf_scopes_sort(struct dwarf_scopes *scopes);

/* The scope of the function @entry, or NO_SCOPE; @scopes may be NULL. */
uint32_t dwarf_scopes_find(const struct dwarf_scopes *scopes, dwarf_ref entry);
