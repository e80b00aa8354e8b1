/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The bytes of a flat symbol table: a header, then these arrays, each aligned to 8 bytes. Integers
 * are little-endian.
 *
 *   segments[n_segments]      load segments of the executable: file offset -> ELF address
 *   pages[n_pages + 1]        pages[p]: number of ranges that start below p << page_shift
 *   starts[n_ranges]          sorted, relative to base; the last range is a gap
 *   location_of[n_ranges]     location of the range, or SYMBOL_NO_LOCATION
 *   locations[n_locations]    a caller precedes the locations inlined into it
 *   functions[n_functions]    offsets into texts, and first lines
 *   paths[n_paths]            offsets into texts
 *   nameless[n_nameless]      functions without a name, sorted, without overlap; relative to base
 *   texts[text_bytes]         strings, each with a NUL
 *
 * The offset of an array follows from the counts in the header, so there are no offsets to check.
 */

#include "common/executable_id.h"
#include "symbolizer/symbols/table/symbol_file.h"

/* Incremented with every change of the layout, or of the contents of a table. */
#define SYMBOL_LAYOUT_VERSION 4

#define SYMBOL_FLAT_MAGIC   "HrthSymF"
#define SYMBOL_STORED_MAGIC "HrthSymS"

/* The longest chain of locations. Real code has at most about 60 inlined calls at an address. */
#define SYMBOL_CHAIN_MAX 256

#define SYMBOL_NONE UINT32_MAX

struct symbol_header {
	char magic[8];
	uint32_t version;
	uint32_t zero;
	uint64_t checksum; /* XXH3-64 of all bytes after this field */
	uint64_t total_bytes;
	uint64_t base;
	uint64_t text;
	uint64_t text_bytes;
	uint32_t sources; /* enum symbol_source */
	uint32_t has_text;
	uint32_t page_shift;
	uint32_t n_segments;
	uint32_t n_pages;
	uint32_t n_ranges;
	uint32_t n_locations;
	uint32_t n_functions;
	uint32_t n_paths;
	uint32_t n_nameless;
	struct executable_id id;
	uint8_t zeroes[6];
};
static_assert(sizeof(struct symbol_header) == 200 && offsetof(struct symbol_header, id) == 96,
	      "part of the format");

#define SYMBOL_CHECKED_FROM (offsetof(struct symbol_header, checksum) + 8)

struct symbol_segment {
	uint64_t file_offset;
	uint64_t elf_addr;
	uint64_t size;
};

struct symbol_location {
	uint32_t function; /* or SYMBOL_NONE: only the line is known */
	uint32_t path;     /* or SYMBOL_NONE */
	uint32_t line;
	uint32_t caller; /* location, or SYMBOL_NONE */
};

struct symbol_function {
	uint32_t display; /* offset in texts */
	uint32_t linkage; /* offset in texts */
	/* Line of its definition. 0: not known, or functions with this name have several. */
	uint32_t first_line;
};

struct symbol_nameless {
	uint32_t start;
	uint32_t end; /* exclusive */
};

/* Pointers to the arrays of a flat table. */
struct symbol_arrays {
	const struct symbol_segment *segments;
	const uint32_t *pages;
	const uint32_t *starts;
	const uint32_t *location_of;
	const struct symbol_location *locations;
	const struct symbol_function *functions;
	const uint32_t *paths;
	const struct symbol_nameless *nameless;
	const char *texts;
};

/* Returns the size of a flat table with the counts of @header. */
uint64_t symbol_layout_bytes(const struct symbol_header *header);

void symbol_layout_arrays(const struct symbol_header *header, const void *flat,
			  struct symbol_arrays *ret_arrays);

uint64_t symbol_layout_checksum(struct bytes_view flat);

/* Chooses pages in which about 16 ranges start: their starts fill a cache line. */
uint32_t symbol_layout_page_shift(uint32_t last_start, uint32_t n_ranges);
void symbol_layout_fill_pages(const uint32_t *starts, uint32_t n_ranges, uint32_t page_shift,
			      uint32_t n_pages, uint32_t *ret_pages);
