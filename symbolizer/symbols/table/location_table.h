/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Numbers locations; equal locations get one number.
 */

#include "common/vec.h"
#include "symbolizer/symbols/table/symbol_layout.h"

VEC_DEFINE(symbol_location_vec, struct symbol_location);

struct location_slot {
	uint32_t generation;
	uint32_t location;
};

struct location_table {
	struct symbol_location_vec locations;
	struct location_slot *slots;
	uint32_t capacity;   /* allocated slots */
	uint32_t n_slots;    /* slots in use; a power of two */
	uint32_t generation; /* incremented for each unit and each doubling; stays below 2^32 */
	size_t first;        /* first location that slots may refer to */
};

int location_table_init(struct location_table *table);
void location_table_release(struct location_table *table);

/*
 * Finds the number of an equal location that was added since location_table_forget(), or assigns a
 * new one.
 */
int location_table_add(struct location_table *table, const struct symbol_location *location,
		       uint32_t *ret_location);

/*
 * Locations added from now on do not share numbers with the present ones. Called between units,
 * because lookups in a small hash table are faster.
 */
void location_table_forget(struct location_table *table);
