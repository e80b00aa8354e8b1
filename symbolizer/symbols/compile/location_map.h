/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Maps the code of a unit to locations: finds for each byte the innermost function or inlined call
 * that has it, and its source line.
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
	struct code_heap open;    /* max-heap by instance: ranges begun at or before the offset */
	struct path_id_vec paths; /* of the unit's files: id in builder->paths, or PATH_NOT_MADE */
	struct bytes path;
	const struct dwarf_unit *unit;
	struct code_instance *instances;
	size_t row; /* the last row that begins at or before the current offset */
	uint32_t epoch;
};

void location_map_init(struct location_map *map, struct table_builder *builder);
void location_map_release(struct location_map *map);

/* Adds the code of @unit to the builder; map->lines has its lines. Reorders the ranges of @code. */
int location_map_add(struct location_map *map, const struct dwarf_unit *unit,
		     struct unit_code *code);
