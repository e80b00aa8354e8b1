/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The entries of .eh_frame (LSB Core §10.6) and .debug_frame (DWARF 5 §6.4.1), CIE versions 1, 3, 4
 * and 5, in the 32-bit and the 64-bit format: where an entry ends, which kind it is, and what
 * stands in it before its instructions.
 *
 * An entry is a length, an id, and a body. The id separates CIEs (0 in .eh_frame, all ones in
 * .debug_frame) from FDEs, whose id leads to their CIE: backwards from the id itself in .eh_frame,
 * from the section's start in .debug_frame.
 */

#include "common/elf/eh_pointer.h"

struct eh_frame_entry {
	uint64_t size; /* with the length field; UINT64_MAX where the sum overflows */
	size_t id_at;  /* the id's offset within the entry */
	size_t id_size;
};

/*
 * Measures the entry at the start of @rest. 1: measured. Its size may be larger than @rest, and
 * equals id_at for a zero terminator. 0: @rest is too short to say.
 */
int eh_frame_entry_measure(struct bytes_view rest, bool is_debug_frame,
			   struct eh_frame_entry *ret_entry);

/* Whether @id, read from an entry whose id has @id_size bytes, is that of a CIE. */
bool eh_frame_id_is_cie(uint64_t id, size_t id_size, bool is_debug_frame);

struct eh_frame_cie {
	uint64_t code_align;
	int64_t data_align;
	uint64_t ra_column;
	uint8_t address_encoding;
	bool has_augmentation_data;
	bool is_signal_frame;
};

/* @cursor stands behind the id of a CIE, and is left at its instructions. 0, -EBADMSG. */
int eh_frame_cie_read(struct bytes_reader *cursor, struct eh_frame_cie *ret_cie);

/* ELF addresses; @end is exclusive, and equals @start in an FDE without code. */
struct eh_frame_range {
	uint64_t start;
	uint64_t end;
};

/*
 * @cursor stands behind the id of an FDE of @cie, and is left at its instructions; @field_vaddr is
 * the address of its next byte. 0, -EBADMSG.
 */
int eh_frame_fde_read(struct bytes_reader *cursor, const struct eh_frame_cie *cie,
		      uint64_t field_vaddr, const struct eh_pointer_bases *bases,
		      struct eh_frame_range *ret_range);
