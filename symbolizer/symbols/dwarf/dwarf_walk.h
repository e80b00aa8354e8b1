/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The functions of one unit that have code, with all that was inlined into them.
 */

#include "symbolizer/symbols/dwarf/dwarf_lines.h"
#include "symbolizer/symbols/dwarf/dwarf_scopes.h"

#define NO_INSTANCE UINT32_MAX

/* A function's code, or that of a function inlined into another one: in the order of the entries,
 * so that whoever contains comes first. */
struct code_instance {
	dwarf_ref function; /* of the entry that may have its name */
	uint32_t parent;    /* instance it was inlined into, or NO_INSTANCE */
	uint32_t root;      /* instance that is no inlined one; itself */
	uint32_t depth;
	uint32_t call_file;
	uint32_t call_line;
	/* Of the mapping to locations (code_map.c): */
	uint32_t function_id;
	uint32_t caller;
	uint32_t epoch;
	uint32_t last_path;
	uint32_t last_line;
	uint32_t last_location; /* of them; valid while last_epoch is the root's epoch */
	uint32_t last_epoch;
};

struct code_range {
	uint32_t start; /* in the window */
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
	struct unit_code code; /* of the unit walked last */
	struct dwarf_range_vec scratch;
	struct walk_level *levels;
	uint64_t ranges_left; /* over all units */
};

int dwarf_walk_init(struct dwarf_walk *walk, const struct code_window *window,
		    struct dwarf_scopes *scopes, uint64_t max_ranges);
void dwarf_walk_release(struct dwarf_walk *walk);

/* 0; -EBADMSG: what was read until the damage is in walk->code; -EFBIG; -ENOMEM. */
int dwarf_walk_unit(struct dwarf_walk *walk, struct dwarf_unit *unit);
