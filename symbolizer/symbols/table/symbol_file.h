/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A compiled symbol table in the form that queries read: one file per executable, mapped,
 * immutable.
 *
 * An ELF address leads to a location: a function, a source line, and the location of the call that
 * the function was inlined into, and so on to the function that really has the code. Locations are
 * dense numbers; a caller's is always lower than that of what was inlined into it, and equal
 * locations have one number, so that whoever counts by location need not compare names.
 *
 *	uint32_t location;
 *	symbol_file_find(file, &elf_addr, 1, &location);
 *	while (location != SYMBOL_NO_LOCATION) {
 *		struct symbol_frame frame;
 *		location = symbol_file_frame(file, location, &frame);    -- innermost first
 *		...
 *	}
 *
 * The file is made from the stored form (symbol_pack.h) and may be made anew at any time. Opening
 * checks all of it once, so that no byte of it can lead a reader astray. Thread-safe.
 */

#include "common/bytes.h"
#include "common/executable_id.h"
#include "common/scoped.h"

struct symbol_file;

/*
 * Maps the file behind @fd (not taken). Nobody may write to it while it is open; replace it by
 * rename. -EBADMSG: damaged, or no table; -ESTALE: a table of another version, to be made anew;
 * -ENOMEM.
 */
int symbol_file_open(int fd, struct symbol_file **ret_file);

/* The same over memory that the caller keeps, aligned to 8 bytes. */
int symbol_file_open_memory(struct bytes_view flat, struct symbol_file **ret_file);
struct symbol_file *symbol_file_free(struct symbol_file *file);

/* Where names and lines come from. */
enum symbol_source {
	SYMBOL_SOURCE_DWARF = 1 << 0,          /* functions and inlined functions */
	SYMBOL_SOURCE_LINES = 1 << 1,          /* .debug_line */
	SYMBOL_SOURCE_SYMTAB = 1 << 2,         /* .symtab */
	SYMBOL_SOURCE_DYNSYM = 1 << 3,         /* .dynsym */
	SYMBOL_SOURCE_MINI_DEBUGINFO = 1 << 4, /* .gnu_debugdata */
	SYMBOL_SOURCE_GO = 1 << 5,             /* .gopclntab */
	SYMBOL_SOURCE_PLT = 1 << 6,            /* stubs, named f@plt */
};

/*
 * Sources that have all functions of a file. A table without any of them is that of a stripped
 * file.
 */
#define SYMBOL_SOURCES_OF_ALL                                                                      \
	(SYMBOL_SOURCE_DWARF | SYMBOL_SOURCE_SYMTAB | SYMBOL_SOURCE_MINI_DEBUGINFO |               \
	 SYMBOL_SOURCE_GO)

struct symbol_file_info {
	struct executable_id id; /* EXECUTABLE_ID_NONE when the ELF file has none */
	uint32_t sources;        /* enum symbol_source, or-ed */
	bool has_text;           /* the symbol _text is known ... */
	uint64_t text;           /* ... to which addresses in a kernel image are relative */
	uint64_t start;          /* of the code that is described, ELF addresses */
	uint64_t end;            /* exclusive */
	uint32_t n_ranges;
	uint32_t n_locations;
	uint32_t n_functions;
	uint32_t n_nameless; /* functions without a name */
	uint64_t size_bytes; /* of the flat form */
};

const struct symbol_file_info *symbol_file_info(const struct symbol_file *file);

#define SYMBOL_NO_LOCATION UINT32_MAX

/*
 * ret_locations[i] is the innermost location at elf_addrs[i], or SYMBOL_NO_LOCATION. Any order;
 * many at once are several times faster than one by one, rising ones faster still.
 */
void symbol_file_find(const struct symbol_file *file, const uint64_t *elf_addrs, size_t count,
		      uint32_t *ret_locations);

/* Texts live as long as the file. */
struct symbol_frame {
	const char *function;     /* for people: see demangle.h; NULL: only the line is known */
	const char *linkage_name; /* as the linker knows it; NULL with function */
	/* of the source file, as absolute as the compiler said; or NULL */
	const char *path;
	/* of the instruction, or of the call to what is inlined; 0 unknown */
	uint32_t line;
};

/* The frame of @location, which must come from this file; returns its caller's location. */
uint32_t symbol_file_frame(const struct symbol_file *file, uint32_t location,
			   struct symbol_frame *ret_frame);

/* Range @index < n_ranges, rising, without overlap. Gaps between them belong to nobody. */
struct symbol_range {
	uint64_t start;
	uint64_t end;
	uint32_t location; /* SYMBOL_NO_LOCATION: a gap */
};

void symbol_file_range(const struct symbol_file *file, uint32_t index,
		       struct symbol_range *ret_range);

/*
 * Where the function without a name begins that has @elf_addr. 1 found; 0: the file does not say,
 * or only a function with a name is there.
 */
int symbol_file_nameless_start(const struct symbol_file *file, uint64_t elf_addr,
			       uint64_t *ret_start);

/* A file offset of the executable as ELF address. 1 found, 0 not known. */
int symbol_file_offset_to_elf_addr(const struct symbol_file *file, uint64_t file_offset,
				   uint64_t *ret_elf_addr);

DEFINE_SCOPED(struct symbol_file *, symbol_file_free);
