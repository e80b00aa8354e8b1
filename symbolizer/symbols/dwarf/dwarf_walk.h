/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Reads the functions of a unit that have code, and the functions inlined into them.
 */

#include "symbolizer/symbols/dwarf/dwarf_lines.h"
#include "symbolizer/symbols/dwarf/dwarf_scopes.h"

#define NO_INSTANCE UINT32_MAX

/*
 * The code of a function, or of one inlined call of it. Instances have the order of their entries,
 * so a parent precedes the calls inlined into it.
 */
struct code_instance {
	dwarf_ref function; /* the entry that has its name or leads to it */
	uint32_t parent;    /* instance that it is inlined into, or NO_INSTANCE */
	uint32_t root;      /* the function around that is not inlined; may be this one */
	uint32_t depth;     /* number of parents */
	uint32_t call_file;
	uint32_t call_line;
	/* Set by location_map.c: */
	uint32_t function_id;
	uint32_t caller;
	uint32_t epoch;
	uint32_t last_path;
	uint32_t last_line;
	uint32_t
		last_location; /* of last_path and last_line; valid if last_epoch == root's epoch */
	uint32_t last_epoch;
};

struct code_range {
	uint32_t start; /* from the window's start */
	uint32_t end;
	uint32_t instance;
};

VEC_DEFINE(code_instance_vec, struct code_instance);
VEC_DEFINE(code_range_vec, struct code_range);

struct unit_code {
	struct code_instance_vec instances;
	struct code_range_vec ranges; /* in the order of their instances */
};

struct dwarf_walk {
	const struct code_window *window;
	struct dwarf_scopes *scopes;
	struct unit_code code; /* of the last unit */
	struct dwarf_range_vec scratch;
	struct walk_level *levels;
	uint64_t ranges_left; /* that may still be read, of all units together */
};

int dwarf_walk_init(struct dwarf_walk *walk, const struct code_window *window,
		    struct dwarf_scopes *scopes, uint64_t max_ranges);
void dwarf_walk_release(struct dwarf_walk *walk);

/*
 * Reads the functions of @unit into walk->code. -EBADMSG: the unit is damaged, and walk->code has
 * the functions before the damage; -EFBIG; -ENOMEM.
 */
int dwarf_walk_unit(struct dwarf_walk *walk, struct dwarf_unit *unit);
