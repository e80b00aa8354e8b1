/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Finds the names of functions in DWARF: the linkage name if DWARF has one. GCC writes no linkage
 * name for functions that are local to a unit. The display name of such a function consists of the
 * scopes around it and its name, in the format of the demangler. Without the scopes, many different
 * functions in a flame graph would have the same name "operator()".
 */

#include "symbolizer/symbols/dwarf/dwarf_scopes.h"

struct dwarf_names {
	struct dwarf_file *file;
	const struct dwarf_scopes *scopes; /* sorted; NULL until all units are walked */
};

/* Does what builder_names_function describes. @display stays empty if there is a linkage name. */
int dwarf_names_append(const struct dwarf_names *names, dwarf_ref entry, struct bytes *linkage,
		       struct bytes *display);

/*
 * The name of @entry if no scopes are needed to find it: the linkage name, or the plain name if the
 * language has no scopes. Otherwise NULL. The text is valid until the file is closed. The call is
 * fast while the pages of the entry's unit are in memory. *ret_first_line is the line of the
 * function's definition; 0: not known.
 */
const char *dwarf_names_plain(const struct dwarf_names *names, dwarf_ref entry,
			      uint32_t *ret_first_line);
