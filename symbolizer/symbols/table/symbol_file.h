/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A compiled symbol table in its flat form, which queries read: one file per executable, mapped and
 * immutable.
 *
 * Each ELF address has a location: a function, a source line, and, if the function is inlined
 * there, the location of the inlined call. The last location of this chain is in the function that
 * has the code. Locations are dense numbers. A caller's number is always lower than that of a
 * location inlined into it. Equal locations have one number, so values can be summed by location
 * without comparing names.
 *
 *	uint32_t location;
 *	symbol_file_find(file, &elf_addr, 1, &location);
 *	while (location != SYMBOL_NO_LOCATION) {
 *		struct symbol_frame frame;
 *		location = symbol_file_frame(file, location, &frame);    -- innermost frame first
 *		...
 *	}
 *
 * The file is made from the stored form (symbol_pack.h) and can be made again at any time. Opening
 * checks all indexes and offsets once; reading relies on that. Thread-safe.
 */

#include "common/bytes.h"
#include "common/executable_id.h"
#include "common/scoped.h"

struct symbol_file;

/*
 * Maps the file @fd, which stays the caller's. The file must not be written to while it is open;
 * replace it by rename. -EBADMSG: damaged, or no table; -ESTALE: a table of another version, which
 * has to be compiled again; -ENOMEM.
 */
int symbol_file_open(int fd, struct symbol_file **ret_file);

/* Does the same for a table in memory, aligned to 8 bytes, which must outlive the file. */
int symbol_file_open_memory(struct bytes_view flat, struct symbol_file **ret_file);
struct symbol_file *symbol_file_free(struct symbol_file *file);

/* The sections that names and lines were read from. */
enum symbol_source {
	SYMBOL_SOURCE_DWARF = 1 << 0,          /* functions and inlined functions */
	SYMBOL_SOURCE_LINES = 1 << 1,          /* .debug_line */
	SYMBOL_SOURCE_SYMTAB = 1 << 2,         /* .symtab */
	SYMBOL_SOURCE_DYNSYM = 1 << 3,         /* .dynsym */
	SYMBOL_SOURCE_MINI_DEBUGINFO = 1 << 4, /* .gnu_debugdata */
	SYMBOL_SOURCE_GO = 1 << 5,             /* .gopclntab */
	SYMBOL_SOURCE_PLT = 1 << 6,            /* stubs, named f@plt */
};

/* Sources that list all functions of a file. A file with none of them is stripped. */
#define SYMBOL_SOURCES_OF_ALL                                                                      \
	(SYMBOL_SOURCE_DWARF | SYMBOL_SOURCE_SYMTAB | SYMBOL_SOURCE_MINI_DEBUGINFO |               \
	 SYMBOL_SOURCE_GO)

struct symbol_file_info {
	struct executable_id id; /* EXECUTABLE_ID_NONE if the ELF file has none */
	uint32_t sources;        /* enum symbol_source, or-ed */
	bool has_text;           /* text is known */
	uint64_t text;           /* of symbol _text: kernel addresses are relative to it */
	uint64_t start;          /* of the first range, ELF address */
	uint64_t end;            /* of the last range, exclusive */
	uint32_t n_ranges;
	uint32_t n_locations;
	uint32_t n_functions;
	uint32_t n_nameless; /* functions without a name */
	uint64_t size_bytes; /* of the flat form */
};

const struct symbol_file_info *symbol_file_info(const struct symbol_file *file);

#define SYMBOL_NO_LOCATION UINT32_MAX

/*
 * Sets ret_locations[i] to the innermost location at elf_addrs[i], or to SYMBOL_NO_LOCATION.
 * Addresses may have any order. One call for many addresses is several times faster than one call
 * for each address, and fastest if the addresses are sorted.
 */
void symbol_file_find(const struct symbol_file *file, const uint64_t *elf_addrs, size_t count,
		      uint32_t *ret_locations);

/* Strings are valid as long as the file. */
struct symbol_frame {
	const char *function;     /* display name (demangle.h); NULL: only the line is known */
	const char *linkage_name; /* NULL if function is */
	const char *path;         /* of the source file, absolute if DWARF has folders; or NULL */
	uint32_t line;            /* of the instruction or the inlined call; 0: not known */
	uint32_t first_line;      /* of the definition of the function; 0: not known */
};

/* Reads the frame of @location, a location of this file, and returns its caller's location. */
uint32_t symbol_file_frame(const struct symbol_file *file, uint32_t location,
			   struct symbol_frame *ret_frame);

/* Range @index < n_ranges. Ranges are sorted and do not overlap. */
struct symbol_range {
	uint64_t start;
	uint64_t end;
	uint32_t location; /* SYMBOL_NO_LOCATION: a gap without code */
};

void symbol_file_range(const struct symbol_file *file, uint32_t index,
		       struct symbol_range *ret_range);

/*
 * Finds the function around @elf_addr among the functions without a name; the location of
 * *ret_range is SYMBOL_NO_LOCATION. Returns 1, or 0 if none of them has the address.
 */
int symbol_file_nameless(const struct symbol_file *file, uint64_t elf_addr,
			 struct symbol_range *ret_range);

/*
 * Finds the contiguous code around @elf_addr that belongs to the function with this display or
 * linkage name, inlined or not: its ranges and those of functions inlined into it. The location of
 * *ret_range is that of @elf_addr. Returns 1, or 0 if the address is not in such a function.
 */
int symbol_file_code_around(const struct symbol_file *file, uint64_t elf_addr, const char *function,
			    struct symbol_range *ret_range);

DEFINE_SCOPED(struct symbol_file *, symbol_file_free);
