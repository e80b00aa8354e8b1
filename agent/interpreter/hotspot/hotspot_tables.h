/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Finds the names of hotspot_fields.def in the tables that a JVM exports: a list of fields and a
 * list of types, in the memory of a process.
 */

#include "agent/interpreter/hotspot/hotspot_layout.h"

/* The rows of HOTSPOT_PLACES, several for one place. */
enum {
#define X(id, ...) +1
	HOTSPOT_N_PLACE_ROWS = HOTSPOT_PLACES(X),
#undef X
};

struct hotspot_tables {
	const struct hotspot_memory *memory;
	uint64_t symbols[HOTSPOT_N_SYMBOLS]; /* the values of the exported variables */
	struct hotspot_layout layout;        /* without excludes_zero */
	uint64_t statics[HOTSPOT_N_STATICS]; /* addresses; 0: the version does not have it */
	/* What was found so far. */
	bool has_field[HOTSPOT_N_FIELDS];
	bool has_size[HOTSPOT_N_SIZES];
	bool has_base[HOTSPOT_N_BASES];
	bool has_place[HOTSPOT_N_PLACE_ROWS];
	uint16_t place_offset[HOTSPOT_N_PLACE_ROWS];
};

/*
 * Fills @tables, in which only memory is set. @symbols: the addresses of HOTSPOT_SYMBOLS in the
 * process. Returns as hotspot_layout_read(); offsets are less than HOTSPOT_MAX_OFFSET, but not
 * checked further.
 */
int hotspot_tables_read(struct hotspot_tables *tables, const uint64_t symbols[HOTSPOT_N_SYMBOLS]);
