/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Reads encoded pointers of .eh_frame and .eh_frame_hdr (LSB Core §10.5.1). The encoding is a byte
 * that gives the format of the value and the base to which it is relative.
 */

#include "common/elf/dwarf_cursor.h"

enum {
	EH_PE_ABSPTR = 0x00,
	EH_PE_ULEB128 = 0x01,
	EH_PE_UDATA2 = 0x02,
	EH_PE_UDATA4 = 0x03,
	EH_PE_UDATA8 = 0x04,
	EH_PE_SIGNED = 0x08,
	EH_PE_SLEB128 = 0x09,
	EH_PE_SDATA2 = 0x0a,
	EH_PE_SDATA4 = 0x0b,
	EH_PE_SDATA8 = 0x0c,
	EH_PE_FORMAT_MASK = 0x0f,

	EH_PE_PCREL = 0x10,
	EH_PE_TEXTREL = 0x20,
	EH_PE_DATAREL = 0x30,
	EH_PE_FUNCREL = 0x40,
	EH_PE_ALIGNED = 0x50,
	EH_PE_BASE_MASK = 0x70,

	EH_PE_INDIRECT = 0x80,
	EH_PE_OMIT = 0xff,
};

/* Bases of relative values: ELF addresses, 0 if unknown. */
struct eh_pointer_bases {
	uint64_t text;
	uint64_t data;
	uint64_t function;
};

/*
 * Reads one pointer. @field_vaddr is the ELF address of the cursor's next byte. An indirect pointer
 * or an unknown encoding sets the cursor's error, like a read past the end.
 */
uint64_t eh_pointer_read(struct bytes_reader *cursor, uint8_t encoding, uint64_t field_vaddr,
			 const struct eh_pointer_bases *bases);

/* Reads the value without adding a base: the length of a range. */
uint64_t eh_pointer_read_number(struct bytes_reader *cursor, uint8_t encoding);
