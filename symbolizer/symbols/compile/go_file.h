/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Where the parts of Go's table are in an ELF file: the header of .gopclntab, and the base that
 * offsets to inline trees count from, which only moduledata knows.
 */

#include "symbolizer/symbols/elf/elf_image.h"

struct go_file {
	struct bytes_view table; /* .gopclntab */
	bool is_1_20;            /* or later: shorter inline trees, longer functions */
	uint8_t quantum;         /* pcs are counted in it */
	uint64_t n_functions;
	uint64_t text; /* runtime.text: pcs are relative to it */
	struct bytes_view names;
	struct bytes_view units; /* u32 for each file of each unit: offset in files */
	struct bytes_view files;
	struct bytes_view values;    /* tables of pc -> value */
	struct bytes_view functions; /* {u32 pc, u32 offset} each, then what these lead to */
	struct bytes_view trees;     /* from go:func.* on; empty: not found */
};

/* 1 found, 0 no Go program or of a version that is not read, -EBADMSG. */
int go_file_find(struct elf_image *image, struct go_file *ret_file);
