/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Decodes .gopclntab, the function table of Go programs: its header and its pc-value tables. A
 * function has one pc-value table per property (file, line, inline tree index, stack depth), which
 * maps each range of its code to a value. Agent and symbolizer share this decoder, but read the
 * section differently: the agent in pieces from the file, the symbolizer as a whole.
 *
 * Supports the little-endian 64-bit layouts of Go 1.16 and 1.17, of Go 1.18 and 1.19, and of Go
 * 1.20 to 1.26. They are defined by pcHeader and step() in runtime/symtab.go of those versions.
 */

#include "common/bytes.h"

/* Offset of pcHeader.textStart in the header, since Go 1.18. Go 1.26 always writes 0 there. */
#define GO_PCLNTAB_TEXT_START   24
#define GO_PCLNTAB_HEADER_BYTES 72

enum go_pclntab_version {
	GO_PCLNTAB_1_16,
	GO_PCLNTAB_1_18, /* this and later: addresses are 32-bit offsets from textStart */
	GO_PCLNTAB_1_20,
};

struct go_pclntab_header {
	enum go_pclntab_version version;
	uint8_t quantum; /* size of the smallest instruction in bytes: the unit of pc differences */
	uint64_t n_functions;
	/* 0 before Go 1.18, in Go 1.26, and in a file in which a relocation sets the field */
	uint64_t text_start;
	/* offsets from the header to funcnametab, cutab, filetab, pctab and functab; not checked */
	uint64_t names, units, files, values, functions;
};

/* False: the bytes are not the header of a supported layout. */
bool go_pclntab_header_read(const uint8_t bytes[GO_PCLNTAB_HEADER_BYTES],
			    struct go_pclntab_header *ret_header);

/* Like go_pclntab_header_read(), for the first 8 bytes. Used to search a file for the table. */
bool go_pclntab_magic_read(const uint8_t bytes[8], enum go_pclntab_version *ret_version);

/* Iterates over the code ranges of a pc-value table. */
struct go_pc_values {
	struct bytes_reader reader;
	int32_t value; /* of the current range; -1 before the first range */
	uint8_t quantum;
	bool has_begun;
};

struct go_pc_values go_pc_values_of(struct bytes_view table, uint8_t quantum);

/*
 * Advances to the next range of code, which has *ret_length bytes (at least one quantum) and the
 * value @values->value. False at the end of the table, or if the bytes are malformed.
 */
bool go_pc_values_next(struct go_pc_values *values, uint32_t *ret_length);
