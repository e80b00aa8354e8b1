/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Parses .eh_frame (LSB Core §10.6) and .debug_frame (DWARF 5 §6.4.1, CIE versions 1, 3, 4, 5), in
 * the 32-bit and the 64-bit format: finds the FDEs, and applies their CIEs.
 *
 * The caller passes a section in pieces, from its beginning, so that it is never in memory as a
 * whole. Each call consumes the complete entries at the start of the piece; the next piece has to
 * begin with the rest. A CIE is interpreted once, when it is found. An FDE that refers to anything
 * but a CIE before it is lost; no linker writes one. So the work is linear in the size of the
 * section, whatever it contains.
 *
 * A malformed entry does not affect others, because its length leads to the next one.
 */

#include "agent/unwind/cfi/cfi_program.h"

/* Longer entries are lost. Compilers write entries of some KiB at most. */
#define EH_FRAME_MAX_ENTRY_BYTES (1u << 20)

/*
 * FDEs of further CIEs are lost. The linker does not merge CIEs in .debug_frame, so that each
 * object file has one.
 */
#define EH_FRAME_MAX_CIES (1u << 16)

struct eh_frame_section {
	uint64_t vaddr;      /* of the first byte */
	uint64_t size;       /* or an upper bound of the size, if is_open_ended */
	uint64_t text_vaddr; /* for pointers that are relative to these sections, else 0 */
	uint64_t data_vaddr;
	bool is_debug_frame;
	/*
	 * The section is known only from .eh_frame_hdr. It ends at a zero terminator after
	 * n_fdes_expected FDEs (if that is 0, at the first terminator), or once so many FDEs were
	 * found. In other sections, a zero terminator only ends the part of one object file.
	 */
	bool is_open_ended;
	uint64_t n_fdes_expected;
};

struct eh_frame_fde {
	uint64_t offset; /* in the section */
	bool is_signal_frame;
	const struct cfi_context *context;
	const struct cfi_state *initial;
	struct cfi_program program;
};

/* -EBADMSG: this FDE is lost. Any other negative value ends the parsing, which returns it. */
typedef int (*eh_frame_fde_function)(void *argument, const struct eh_frame_fde *fde);

struct eh_frame_parser;

int eh_frame_parser_new(const struct eh_frame_section *section, const struct cfi_machine *machine,
			eh_frame_fde_function on_fde, void *on_fde_argument,
			struct eh_frame_parser **ret_parser);
struct eh_frame_parser *eh_frame_parser_free(struct eh_frame_parser *parser);

/*
 * Parses @piece, which continues where the last call stopped consuming. 1: the next piece is
 * needed, a longer one if nothing was consumed (EH_FRAME_MAX_ENTRY_BYTES are always enough); 0: the
 * section has ended; negative: the value of @on_fde, or -ENOMEM.
 */
int eh_frame_parse(struct eh_frame_parser *parser, struct bytes_view piece, size_t *ret_consumed);

/*
 * The number of FDEs that were found, and of those that were lost. An entry of unknown kind counts
 * as an FDE.
 */
uint32_t eh_frame_parser_fdes(const struct eh_frame_parser *parser);
uint32_t eh_frame_parser_lost(const struct eh_frame_parser *parser);

/*
 * Reads the address of .eh_frame and the number of its FDEs (0: not known) from .eh_frame_hdr. 1;
 * 0: it does not contain the address.
 */
int eh_frame_header_parse(struct bytes_view header, uint64_t header_vaddr,
			  uint64_t *ret_eh_frame_vaddr, uint64_t *ret_n_fdes);

#include "common/scoped.h"
DEFINE_SCOPED(struct eh_frame_parser *, eh_frame_parser_free);
