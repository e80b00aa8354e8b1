/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The columns of a stored symbol table, for the writer (symbol_pack.c) and the reader
 * (symbol_unpack.c). Values are encoded so that the most frequent ones are 0 and 1. "Next" is the
 * number after the highest one that the column had so far.
 *
 *   segments       the array as it is
 *   texts          the array as it is: names in the order of the functions, then paths
 *   starts         difference to the previous start
 *   location_of    0: gap; 1 + 2 * (location - next); or 2 * (next - location)
 *   callers        0: none; else the location's number minus the caller's
 *   functions_of   0: as the previous location with the same caller; 1: next; 2: none; else 3 +
 *                  zigzag difference of next and function
 *   paths_of       0: as the previous location of the same function; 1: none; else 2 + zigzag
 *                  difference of next and path
 *   lines          zigzag difference to the previous location of the same function
 *   texts_of       for each function its linkage and display name, then each path: 0: the first
 *                  text not used yet; else the number of texts to go back from that one. "" counts
 *                  as used
 *   first_lines    zigzag difference to the first line of the previous function
 *   nameless       for each: distance from the end of the previous one, then its length
 *
 * The file has a header as in the flat form, with another magic and the checksum of the flat form.
 * Then follow the columns, each as a u64 with its size and a zstd frame.
 */

#include "common/base.h"
#include "symbolizer/symbols/table/symbol_layout.h"

enum column {
	COLUMN_SEGMENTS,
	COLUMN_TEXTS,
	COLUMN_STARTS, /* this and the following columns consist of varints */
	COLUMN_LOCATION_OF,
	COLUMN_CALLERS,
	COLUMN_FUNCTIONS_OF,
	COLUMN_PATHS_OF,
	COLUMN_LINES,
	COLUMN_TEXTS_OF,
	COLUMN_FIRST_LINES,
	COLUMN_NAMELESS,
	N_COLUMNS,
};

/* The longest varint of a column has 34 bits. */
#define COLUMN_VARINT_MAX_BYTES 5

/*
 * Path and line of the previous location of a function: the next one is encoded relative to them.
 */
struct last_line {
	uint32_t path;
	uint32_t line;
};

/* @last has n_functions + 1 elements; the last element is for SYMBOL_NONE. */
static inline struct last_line *last_line_of(struct last_line *last, uint32_t n_functions,
					     uint32_t function)
{
	return &last[function == SYMBOL_NONE ? n_functions : function];
}

/* Returns the largest number of values in a column of varints. */
static inline size_t longest_column(const struct symbol_header *header)
{
	const size_t ranges = MAX((size_t)header->n_ranges, (size_t)header->n_locations);
	const size_t texts = (size_t)header->n_functions * 2 + (size_t)header->n_paths;
	const size_t named = MAX(ranges, texts);

	return MAX(named, (size_t)header->n_nameless * 2);
}
