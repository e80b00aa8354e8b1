/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Parses the entries of .eh_frame (LSB Core §10.6) and .debug_frame (DWARF 5 §6.4.1) up to their
 * instructions: size, kind and fields. CIE versions 1, 3, 4 and 5, in 32-bit and 64-bit format.
 *
 * An entry consists of a length, an id, and a body. The id of a CIE is 0 in .eh_frame, and all ones
 * in .debug_frame. The id of an FDE is the distance from the id back to its CIE in .eh_frame, and
 * the offset of its CIE in the section in .debug_frame.
 */

#include "common/elf/eh_pointer.h"

struct eh_frame_entry {
	uint64_t size; /* including the length field; UINT64_MAX: the sum overflows */
	size_t id_at;  /* offset of the id in the entry */
	size_t id_size;
};

/*
 * Reads the length of the entry at the start of @rest. 1: read; the entry's size may be larger than
 * @rest, and equals id_at for a zero terminator. 0: @rest is too short for a length field.
 */
int eh_frame_entry_measure(struct bytes_view rest, bool is_debug_frame,
			   struct eh_frame_entry *ret_entry);

/* Whether @id, which has @id_size bytes in the entry, is the id of a CIE. */
bool eh_frame_id_is_cie(uint64_t id, size_t id_size, bool is_debug_frame);

struct eh_frame_cie {
	uint64_t code_align;
	int64_t data_align;
	uint64_t ra_column;
	uint8_t address_encoding;
	bool has_augmentation_data;
	bool is_signal_frame;
};

/* Reads a CIE: moves @cursor from the end of its id to its instructions. 0 or -EBADMSG. */
int eh_frame_cie_read(struct bytes_reader *cursor, struct eh_frame_cie *ret_cie);

/* ELF addresses. @end is exclusive, and equals @start in an FDE without code. */
struct eh_frame_range {
	uint64_t start;
	uint64_t end;
};

/*
 * Reads an FDE that belongs to @cie: moves @cursor from the end of the FDE's id to its
 * instructions. @field_vaddr: ELF address of the byte after the id. 0 or -EBADMSG.
 */
int eh_frame_fde_read(struct bytes_reader *cursor, const struct eh_frame_cie *cie,
		      uint64_t field_vaddr, const struct eh_pointer_bases *bases,
		      struct eh_frame_range *ret_range);
