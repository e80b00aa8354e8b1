/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What a function of DWARF is called. A linkage name where there is one; else the name and where it
 * is declared, put together as the demangler would: GCC gives no linkage name to functions local to
 * a unit, and flame graphs are full of "operator()" where nobody does this.
 */

#include "symbolizer/symbols/dwarf/dwarf_scopes.h"

struct dwarf_names {
	struct dwarf_file *file;
	const struct dwarf_scopes *scopes; /* sorted; NULL while they are gathered */
};

/*
 * As builder_names_function in table_builder.h: @display stays empty where a linkage name says all.
 */
int dwarf_names_append(const struct dwarf_names *names, dwarf_ref entry, struct bytes *linkage,
		       struct bytes *display);

/*
 * The name of @entry that needs nothing else to be known: its linkage name, or its name where the
 * language has no scopes. NULL: there is none, or not yet. Lives as long as the file. Cheap while
 * the unit of @entry is at hand.
 */
const char *dwarf_names_plain(const struct dwarf_names *names, dwarf_ref entry);
