/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * From the functions of a unit and its lines to locations: who has each byte, innermost, and from
 * which line it comes.
 */

#include "symbolizer/symbols/compile/table_builder.h"
#include "symbolizer/symbols/dwarf/dwarf_walk.h"

struct code_heap_item {
	uint32_t instance;
	uint32_t end;
};

VEC_DEFINE(code_heap, struct code_heap_item);
VEC_DEFINE(path_id_vec, uint32_t);

struct location_map {
	struct table_builder *builder;
	struct line_table lines;
	struct code_heap open;    /* ranges around the current offset, the innermost first */
	struct path_id_vec paths; /* of the unit's files, or PATH_NOT_MADE */
	struct bytes path;
	const struct dwarf_unit *unit;
	struct code_instance *instances;
	size_t row; /* that the current offset lies in or behind */
	uint32_t epoch;
};

void location_map_init(struct location_map *map, struct table_builder *builder);
void location_map_release(struct location_map *map);

/* Adds a unit whose lines are in map->lines. Reorders @code's ranges. */
int location_map_add(struct location_map *map, const struct dwarf_unit *unit,
		     struct unit_code *code);
