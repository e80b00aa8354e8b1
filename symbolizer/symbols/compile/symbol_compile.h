/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Compiles ELF files to a symbol table (symbol_file.h). It reads the given files by mmap and pread,
 * opens no other file and writes only its result, so it can run in a process that may do nothing
 * else. The same files give the same bytes.
 *
 * Functions, inlined functions and lines are read from DWARF 2 to 5 (also split, shared by dwz, in
 * type units, compressed), or from Go's .gopclntab. Functions that DWARF does not have are read
 * from .symtab, .dynsym, MiniDebugInfo and the PLT. An outermost function that DWARF has gets its
 * name from .symtab, if a symbol begins there, because only .symtab has the names of clones
 * (.constprop, .cold) and the linkage names of functions local to a unit. For code without any
 * name, the table has the start of the function, from .eh_frame. function_candidate.h says which of
 * several symbols at one address gives the name.
 *
 * Files may be hostile: sizes are bounded (symbol_limits.h), and damage in one source loses only
 * the data of that source. The files must not change meanwhile. Starts no threads, except for
 * demangling long names.
 */

#include "common/bytes.h"
#include "symbolizer/symbols/symbol_limits.h"

/* File descriptors, which stay the caller's; -1 for a file that is missing. */
struct symbol_compile_input {
	int main_fd;       /* the debuginfo, or the executable itself */
	int executable_fd; /* if the main file has only debug sections: for PLT, .dynsym, Go */
	int alt_fd;        /* the file that .gnu_debugaltlink names (dwz) */
	int split_fd;      /* the .dwp, or the .dwo of the only unit */
};

struct symbol_compile_report {
	/* What could not be used and why, also if there is a table; or "". */
	char message[SYMBOL_COMPILE_MESSAGE_SIZE];
	uint32_t sources; /* enum symbol_source */
	uint64_t flat_bytes;
	uint32_t n_ranges;
	uint32_t n_locations;
	uint32_t n_functions;
	bool wants_alt;   /* refers to a file of dwz that was not given */
	bool wants_split; /* refers to split DWARF that was not given */
};

/*
 * Appends the flat form to @flat. A file without functions gives an empty table. -ENOEXEC: no ELF
 * file; -ENOTSUP: big-endian; -EBADMSG: damaged; -EFBIG: beyond a limit; -ENOMEM.
 */
int symbol_compile_flat(const struct symbol_compile_input *input, struct bytes *flat,
			struct symbol_compile_report *ret_report);

/* Compiles the files and writes the stored form to @out_fd. */
int symbol_compile(const struct symbol_compile_input *input, int out_fd,
		   struct symbol_compile_report *ret_report);
