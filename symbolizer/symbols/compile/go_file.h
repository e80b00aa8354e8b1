/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Finds the parts of Go's function table in an ELF file: reads the header of .gopclntab, and the
 * base of the offsets to inline trees, which only the runtime's moduledata has.
 */

#include "symbolizer/symbols/elf/elf_image.h"

struct go_file {
	struct bytes_view table; /* .gopclntab */
	bool is_1_20;            /* or later: shorter inline trees, longer functions */
	uint8_t quantum;         /* unit of pc differences, in bytes */
	uint64_t n_functions;
	uint64_t text; /* address of runtime.text: pcs are relative to it */
	struct bytes_view names;
	struct bytes_view units; /* u32 for each file of each unit: offset in files */
	struct bytes_view files;
	struct bytes_view values;    /* tables of pc -> value */
	struct bytes_view functions; /* n_functions of {u32 pc, u32 offset}, then the records */
	struct bytes_view trees;     /* begins at go:func.*; empty if that was not found */
};

/* Returns 1, or 0 if the file has no table or one of an unsupported version; -EBADMSG. */
int go_file_find(struct elf_image *image, struct go_file *ret_file);
