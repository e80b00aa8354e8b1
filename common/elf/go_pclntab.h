/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The format of Go's table of functions, .gopclntab: its header, and the tables from pc to value
 * that each function has (file, line, inline tree, stack pointer). The agent reads the section
 * through a window, the server has it in memory; both decode it here.
 *
 * Layouts: Go 1.16 (also 1.17), 1.18 (1.19) and 1.20 (to 1.26), little-endian, 64-bit
 * (runtime/symtab.go of those versions: pcHeader, step()).
 */

#include "common/bytes.h"

/* Offset of pcHeader.textStart. The field is 0 since Go 1.26. */
#define GO_PCLNTAB_TEXT_START   24
#define GO_PCLNTAB_HEADER_BYTES 72

enum go_pclntab_version {
	GO_PCLNTAB_1_16,
	GO_PCLNTAB_1_18, /* addresses are 32 bits, relative to textStart */
	GO_PCLNTAB_1_20,
};

struct go_pclntab_header {
	enum go_pclntab_version version;
	uint8_t quantum; /* size of the smallest instruction in bytes: the unit of pc differences */
	uint64_t n_functions;
	uint64_t text_start; /* 0: Go 1.16, or the linker left it to a relocation */
	/* offsets of the parts from the start of the table; not checked */
	uint64_t names, units, files, values, functions;
};

/* False: the bytes are not the header of a supported layout. */
bool go_pclntab_header_read(const uint8_t bytes[GO_PCLNTAB_HEADER_BYTES],
			    struct go_pclntab_header *ret_header);

/* The same check of the first 8 bytes alone, to search for a table. */
bool go_pclntab_magic_read(const uint8_t bytes[8], enum go_pclntab_version *ret_version);

/* A walk over a table from pc to value. Before the first piece, value is -1. */
struct go_pc_values {
	struct bytes_reader reader;
	int32_t value;
	uint8_t quantum;
	bool has_begun;
};

struct go_pc_values go_pc_values_of(struct bytes_view table, uint8_t quantum);

/*
 * Advances to the next piece: @values->value holds for the next *ret_length bytes of code, at least
 * one quantum. False at the end, or if the bytes are malformed.
 */
bool go_pc_values_next(struct go_pc_values *values, uint32_t *ret_length);
