/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Collects the code that the readers find, in any order, and makes a flat symbol table of it.
 * Locations, functions and paths are numbered in the order of addresses: the same input gives the
 * same bytes, and data of adjacent code is adjacent in memory.
 *
 * Code is added in runs: segments that follow each other without a gap. There are two layers. The
 * first has code with functions. The second has lines without a function and is used only where the
 * first has nothing. Symbols are used where both have none.
 */

#include "common/string_table.h"
#include "symbolizer/symbols/elf/function_candidate.h"
#include "symbolizer/symbols/elf/nameless_functions.h"
#include "symbolizer/symbols/table/location_table.h"

struct hash_table;

/* A function before it gets its number in the table: an entry of DWARF, or a name. */
struct builder_function {
	uint64_t entry;   /* dwarf_ref, or UINT64_MAX */
	const char *name; /* linkage name, or NULL if only names() knows it; outlives the builder */
	uint64_t declared;   /* dwarf_ref of an entry with its first line, or UINT64_MAX */
	uint32_t first_line; /* 0: not known */
};

struct builder_segment {
	uint32_t start;
	uint32_t location;
};

struct builder_run {
	uint32_t start;
	uint32_t end;
	uint32_t first; /* index of its first segment */
	uint32_t count; /* of its segments */
};

VEC_DEFINE(builder_function_vec, struct builder_function);
VEC_DEFINE(builder_segment_vec, struct builder_segment);
VEC_DEFINE(builder_run_vec, struct builder_run);

struct builder_layer {
	struct builder_run_vec runs;
	struct builder_segment_vec segments;
};

enum builder_layer_kind {
	LAYER_CODE,
	LAYER_LINES,
	N_LAYERS,
};

struct table_builder {
	uint64_t base;
	const struct function_range_vec *symbols;
	uint32_t *symbol_functions; /* function of each symbol, or SYMBOL_NONE */
	struct builder_layer layers[N_LAYERS];
	struct location_table locations; /* location_table_forget() is called after each unit */
	struct builder_function_vec functions;
	struct hash_table *entry_functions; /* dwarf_ref -> function */
	struct string_table *paths;
};

int table_builder_init(struct table_builder *builder, uint64_t base,
		       const struct function_range_vec *symbols);
void table_builder_release(struct table_builder *builder);

/* Finds or adds the function of a DWARF entry. */
int table_builder_entry(struct table_builder *builder, uint64_t entry, uint32_t *ret_function);

/* Adds a function of which only the linkage name is known; each call adds a new one. */
int table_builder_named(struct table_builder *builder, const char *name, uint32_t *ret_function);

/* Returns the index of the symbol around @offset, or -1. */
int64_t table_builder_symbol_at(const struct table_builder *builder, uint32_t offset);

/* Finds or adds the function of symbol @symbol. */
int table_builder_symbol(struct table_builder *builder, uint32_t symbol, uint32_t *ret_function);

/* Sets the DWARF entry of a function that has the name of a symbol. */
void table_builder_declare(struct table_builder *builder, uint32_t function, uint64_t entry);

/*
 * Appends the segment [start, end) to a layer. It continues the last run if that ends at @start,
 * and begins a run otherwise.
 */
int table_builder_add(struct table_builder *builder, enum builder_layer_kind kind, uint32_t start,
		      uint32_t end, uint32_t location);

/* The names that were found for a DWARF entry. */
enum builder_names {
	NAMES_NONE,
	NAMES_LINKAGE, /* the linkage name; the display name is made by demangling it */
	NAMES_BOTH,
};

/* Appends the names of @entry, without NUL. Returns enum builder_names, -ENOMEM or -EFBIG. */
typedef int (*builder_names_function)(void *argument, uint64_t entry, struct bytes *linkage,
				      struct bytes *display);

struct builder_output {
	/* The caller sets sources, has_text, text, id and n_segments. */
	struct symbol_header header;
	const struct symbol_segment *segments;
	/* Functions of .eh_frame; those with a byte that has no name are stored. May be NULL. */
	const struct nameless_vec *nameless;
	builder_names_function names;
	void *names_argument;
};

/* Appends the flat table to @flat. Afterwards the builder can only be released. */
int table_builder_finish(struct table_builder *builder, const struct builder_output *output,
			 struct bytes *flat);

/* table_merge.c: merges the layers and symbols to one list of ranges. */
struct merged_ranges {
	/* Sorted; each ends where the next one begins. Location SYMBOL_NO_LOCATION is a gap; the
	 * last range is a gap. */
	struct builder_segment_vec segments;
};

int table_builder_merge(struct table_builder *builder, struct merged_ranges *ret_merged);
