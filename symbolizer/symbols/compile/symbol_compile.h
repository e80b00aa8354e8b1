/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * From ELF files to a symbol table (symbol_file.h). A pure step: it reads the files given, by mmap
 * and pread, opens no other, and writes nothing but its result, so that it can run in a process
 * that may do nothing else. The same files give the same bytes.
 *
 * Functions come from DWARF 2 to 5 (also split, shared by dwz, in type units, compressed), with
 * everything inlined and lines; from Go's .gopclntab; and from .symtab, .dynsym, MiniDebugInfo and
 * the PLT for what DWARF does not have. Where DWARF has the function, .symtab still names the
 * outermost frame, because it alone knows clones (.constprop, .cold) and functions local to a
 * unit. What has no name from any of them is known by the beginning of its function, which
 * .eh_frame has also in stripped files. Which of several symbols at one address is taken: see
 * function_candidate.h.
 *
 * Files are hostile: sizes are bounded (symbol_limits.h), damaged DWARF costs what only that DWARF
 * knew. Nobody may change the files meanwhile. Uses no threads of its own but for demangling.
 */

#include "common/bytes.h"
#include "symbolizer/symbols/symbol_limits.h"

/* File descriptors, none taken; -1 for what is not there. */
struct symbol_compile_input {
	int main_fd;       /* the debuginfo, or the executable itself */
	int executable_fd; /* beside a main file that has debug sections only: PLT, .dynsym, Go */
	int alt_fd;        /* what .gnu_debugaltlink names (dwz) */
	int split_fd;      /* the .dwp, or the one .dwo */
};

struct symbol_compile_report {
	/* "" or what could not be used and why, also when there is a table. */
	char message[SYMBOL_COMPILE_MESSAGE_SIZE];
	uint32_t sources; /* enum symbol_source */
	uint64_t flat_bytes;
	uint32_t n_ranges;
	uint32_t n_locations;
	uint32_t n_functions;
	bool wants_alt;   /* names an alternative file that was not given */
	bool wants_split; /* names split DWARF that was not given */
};

/*
 * Appends the flat form to @flat. A file without any function gives an empty table. -ENOEXEC: no
 * ELF file; -ENOTSUP: of a byte order that is not read; -EBADMSG: damaged; -EFBIG: beyond a limit;
 * -ENOMEM.
 */
int symbol_compile_flat(const struct symbol_compile_input *input, struct bytes *flat,
			struct symbol_compile_report *ret_report);

/* The same, and writes the stored form to @out_fd. */
int symbol_compile(const struct symbol_compile_input *input, int out_fd,
		   struct symbol_compile_report *ret_report);
