/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The columns of a stored symbol table, for the writer (symbol_pack.c) and the reader
 * (symbol_unpack.c). Each is written so that what is usual is a zero or a one:
 *
 *   segments       as they are
 *   texts          as they are: first those of functions in the order of the functions, then paths
 *   starts         the difference to the start before
 *   location_of    0 a gap; 1, 3 ... so many beyond those met; 2, 4 ... so many back
 *   callers        0 none, else how many locations back
 *   functions_of   0 as the last location with the same caller; 1 the first not met yet; 2 none;
 *                  3 ... the difference to that
 *   paths_of       0 as the last location of the same function; 1 none; 2 ... the difference to the
 *                  first not met yet
 *   lines          the difference to the last location of the same function
 *   texts_of       for each function linkage name and display, then for each path: 0 the first
 *                  text not met yet, else how many texts back from there; "" is met
 *   nameless       for each the gap to the one before, and its length
 *
 * In the file: a header as in the flat form, with another magic and the checksum of the flat form;
 * then each column as a u64 with its size and a zstd frame.
 */

#include "common/base.h"
#include "symbolizer/symbols/table/symbol_layout.h"

enum column {
	COLUMN_SEGMENTS,
	COLUMN_TEXTS,
	COLUMN_STARTS, /* from here on varints */
	COLUMN_LOCATION_OF,
	COLUMN_CALLERS,
	COLUMN_FUNCTIONS_OF,
	COLUMN_PATHS_OF,
	COLUMN_LINES,
	COLUMN_TEXTS_OF,
	COLUMN_NAMELESS,
	N_COLUMNS,
};

/* Longest varint of a column: 34 bits. */
#define COLUMN_VARINT_MAX_BYTES 5

/* What was last seen of each function, from which its next location is guessed. */
struct last_place {
	uint32_t path;
	uint32_t line;
};

/* @last has n_functions + 1; the last one is for SYMBOL_NONE. */
static inline struct last_place *last_place_of(struct last_place *last, uint32_t n_functions,
					       uint32_t function)
{
	return &last[function == SYMBOL_NONE ? n_functions : function];
}

/* The most values that a column of varints has. */
static inline size_t longest_column(const struct symbol_header *header)
{
	const size_t ranges = MAX((size_t)header->n_ranges, (size_t)header->n_locations);
	const size_t texts = (size_t)header->n_functions * 2 + (size_t)header->n_paths;
	const size_t named = MAX(ranges, texts);

	return MAX(named, (size_t)header->n_nameless * 2);
}
