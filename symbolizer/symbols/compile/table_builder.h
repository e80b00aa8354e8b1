/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Gathers what the readers find, in any order, and makes a flat symbol table of it: numbered in the
 * order of addresses, so that the same findings give the same bytes, and neighbours in the code are
 * neighbours in memory.
 *
 * Findings come in runs: segments one after the other without a gap. There are two layers: code
 * with functions, and bare lines, which only count where the first has nothing. Symbols are below
 * both.
 */

#include "common/string_table.h"
#include "symbolizer/symbols/elf/function_candidate.h"
#include "symbolizer/symbols/elf/nameless_functions.h"
#include "symbolizer/symbols/table/location_table.h"

struct hash_table;

/* A function before it has its final number: an entry of DWARF, or a name. */
struct builder_function {
	uint64_t entry;   /* dwarf_ref, or UINT64_MAX */
	const char *name; /* the linkage name, if that says all; outlives the builder */
};

struct builder_segment {
	uint32_t start;
	uint32_t location;
};

struct builder_run {
	uint32_t start;
	uint32_t end;
	uint32_t first; /* segment */
	uint32_t count;
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
	uint32_t *symbol_functions; /* of each symbol, or SYMBOL_NONE */
	struct builder_layer layers[N_LAYERS];
	struct location_table locations; /* forgotten after each unit */
	struct builder_function_vec functions;
	struct hash_table *entry_functions; /* dwarf_ref -> function */
	struct string_table *paths;
};

int table_builder_init(struct table_builder *builder, uint64_t base,
		       const struct function_range_vec *symbols);
void table_builder_release(struct table_builder *builder);

/* The function of a DWARF entry. */
int table_builder_entry(struct table_builder *builder, uint64_t entry, uint32_t *ret_function);

/* A function known by its linkage name only; each call makes a new one. */
int table_builder_named(struct table_builder *builder, const char *name, uint32_t *ret_function);

/* The index of the symbol whose range @offset lies in, or -1. */
int64_t table_builder_symbol_at(const struct table_builder *builder, uint32_t offset);
int table_builder_symbol(struct table_builder *builder, uint32_t symbol, uint32_t *ret_function);

/* Appends a segment; it continues the run before when that ends at @start. Within one caller,
 * starts rise. */
int table_builder_add(struct table_builder *builder, enum builder_layer_kind kind, uint32_t start,
		      uint32_t end, uint32_t location);

/* What is known of the names of a DWARF entry. */
enum builder_names {
	NAMES_NONE,    /* nothing */
	NAMES_LINKAGE, /* the linkage name, which has only to be demangled */
	NAMES_BOTH,
};

/* Appends the names, without NUL. enum builder_names, -ENOMEM, -EFBIG. */
typedef int (*builder_names_function)(void *argument, uint64_t entry, struct bytes *linkage,
				      struct bytes *display);

struct builder_output {
	struct symbol_header header; /* to be filled but for what the builder knows */
	const struct symbol_segment *segments;
	/* The table gets those of which some byte has no name. NULL: none. */
	const struct nameless_vec *nameless;
	builder_names_function names;
	void *names_argument;
};

/* Appends the flat table to @flat. The builder is good for nothing but release afterwards. */
int table_builder_finish(struct table_builder *builder, const struct builder_output *output,
			 struct bytes *flat);

/* table_merge.c: the layers one over the other. */
struct merged_ranges {
	/* location SYMBOL_NO_LOCATION: a gap; the last is one */
	struct builder_segment_vec segments;
};

int table_builder_merge(struct table_builder *builder, struct merged_ranges *ret_merged);
