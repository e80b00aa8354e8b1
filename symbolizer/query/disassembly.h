/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The machine code of a function in one file, with the values of its instructions. The code is that
 * of the executable in the debuginfo store, decoded by a helper process; without it, the rows are
 * the addresses that have values.
 */

#include "symbolizer/query/code_values.h"

#define DISASSEMBLY_NO_PLACE RESOLVE_NO_PLACE

struct disassembly_row {
	uint64_t elf_addr;
	uint32_t block;          /* index, or DISASSEMBLY_NO_BLOCK: an address in no block */
	struct bytes_view bytes; /* none: the code is not known, and the next fields are not set */
	const char *mnemonic, *operands;
	bool is_data;                /* the bytes are no instruction */
	uint64_t target;             /* ELF address of a direct jump or call, or CODE_NO_TARGET */
	const char *target_function; /* that has the target, if it is in no block; or NULL */
	uint32_t place;              /* innermost, or DISASSEMBLY_NO_PLACE */
	bool inlined;         /* the code is of a function that is inlined into the selected one */
	uint64_t self, total; /* not rounded */
};

#define DISASSEMBLY_NO_BLOCK UINT32_MAX

struct disassembly {
	enum code_outcome outcome;
	const char *why;  /* CODE_REFUSED: the reason; else "" */
	uint16_t machine; /* EM_...; 0: not known */
	struct code_block *blocks;
	size_t n_blocks;
	uint64_t left_out_bytes;      /* of code that was not decoded because of @max_bytes */
	struct disassembly_row *rows; /* rising by address */
	size_t n_rows;
	struct symbol_place *places; /* a caller precedes the places inlined into it */
	size_t n_places;
};

struct disassembly_request {
	struct resolver *resolver;
	const char *function; /* of code_values_name() */
	const struct code_file *file;
	const struct code_value *values; /* [n_values] of the file, rising by address */
	size_t n_values;
	enum code_syntax syntax;
	uint64_t max_bytes; /* at most CODE_MAX_BYTES */
};

/*
 * Rows and places are in @arena. Returns 0; -EBUSY: too many requests decode code; or another
 * negative errno.
 */
int disassembly_make(const struct disassembly_request *request, struct arena *arena,
		     struct disassembly *ret_disassembly);
