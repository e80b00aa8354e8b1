/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Locations, equal ones of which get one number.
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
	uint32_t capacity;   /* of slots */
	uint32_t n_slots;    /* in use; a power of two */
	uint32_t generation; /* grows with every unit and every doubling: far below 2^32 */
	size_t first;        /* location of this generation */
};

int location_table_init(struct location_table *table);
void location_table_release(struct location_table *table);

/* The number of @location: of an equal one added since location_table_forget(), or a new one. */
int location_table_add(struct location_table *table, const struct symbol_location *location,
		       uint32_t *ret_location);

/*
 * What comes from here on does not share numbers with what is there: a small table is a fast one.
 */
void location_table_forget(struct location_table *table);
