/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Names of the functions of DWARF: the linkage name if there is one. GCC writes none for functions
 * local to a unit. Their display name is made of the name and the scopes around it, formatted as
 * the demangler does it; without the scopes, flame graphs would be full of "operator()".
 */

#include "symbolizer/symbols/dwarf/dwarf_scopes.h"

struct dwarf_names {
	struct dwarf_file *file;
	const struct dwarf_scopes *scopes; /* sorted; NULL until all units are walked */
};

/* A builder_names_function (table_builder.h). @display stays empty if there is a linkage name. */
int dwarf_names_append(const struct dwarf_names *names, dwarf_ref entry, struct bytes *linkage,
		       struct bytes *display);

/*
 * The name of @entry if it can be found without scopes: its linkage name, or its name if the
 * language has no scopes. Otherwise NULL. Valid as long as the file. Fast while the pages of the
 * entry's unit are in memory.
 */
const char *dwarf_names_plain(const struct dwarf_names *names, dwarf_ref entry);
