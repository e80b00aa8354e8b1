/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The parser of .eh_frame (LSB Core §10.6) and .debug_frame (DWARF 5 §6.4.1, CIE versions 1, 3,
 * 4, 5), both in the 32-bit and the 64-bit format: it finds the FDEs, and what their CIEs say of
 * them.
 *
 * A section is fed to it in pieces, from its beginning, so that nobody needs a whole one in
 * memory: each call consumes the whole entries at the start of the piece, and what is left has to
 * begin the next piece. CIEs are interpreted once, when they are met; an FDE that names anything
 * else than a CIE before it is lost (no linker writes one), so that the work is linear in the
 * section's size whatever it contains.
 *
 * An entry that makes no sense is lost alone: its length says where the next one is.
 */

#include "agent/unwind/cfi_program.h"

/* Longer entries are lost: the longest that compilers write have some KiB. */
#define EH_FRAME_MAX_ENTRY_BYTES (1u << 20)

/*
 * Beyond it FDEs are lost. Without merging by the linker (.debug_frame) there is one for each
 * object file.
 */
#define EH_FRAME_MAX_CIES (1u << 16)

struct eh_frame_section {
	uint64_t vaddr;      /* of the first byte */
	uint64_t size;       /* or an upper bound of it, if @is_open_ended */
	uint64_t text_vaddr; /* for pointers relative to them, else 0 */
	uint64_t data_vaddr;
	bool is_debug_frame;
	/*
	 * Known from .eh_frame_hdr alone: where a zero terminator stands after @n_fdes_expected
	 * FDEs (any number if 0), or once there are so many, the section ends. Otherwise a zero
	 * is only the end of one object file's part.
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

/* -EBADMSG: this FDE is lost; any other negative number ends the parsing, which returns it. */
typedef int (*eh_frame_fde_function)(void *argument, const struct eh_frame_fde *fde);

struct eh_frame_parser;

int eh_frame_parser_new(const struct eh_frame_section *section, const struct cfi_machine *machine,
			eh_frame_fde_function on_fde, void *on_fde_argument,
			struct eh_frame_parser **ret_parser);
struct eh_frame_parser *eh_frame_parser_free(struct eh_frame_parser *parser);

/*
 * @piece continues where the last call stopped consuming. 1: more is wanted; if nothing was
 * consumed, in a longer piece (at most EH_FRAME_MAX_ENTRY_BYTES are needed); 0: the section is at
 * its end; negative: what @on_fde said, -ENOMEM.
 */
int eh_frame_parse(struct eh_frame_parser *parser, struct bytes_view piece, size_t *ret_consumed);

/*
 * FDEs met, and of these those that could not be used. An entry of unknown kind counts as an FDE.
 */
uint32_t eh_frame_parser_fdes(const struct eh_frame_parser *parser);
uint32_t eh_frame_parser_lost(const struct eh_frame_parser *parser);

/*
 * .eh_frame_hdr: where .eh_frame is, and how many FDEs it has (0: not said). 1, or 0 when it does
 * not say. Pure.
 */
int eh_frame_header_parse(struct bytes_view header, uint64_t header_vaddr,
			  uint64_t *ret_eh_frame_vaddr, uint64_t *ret_n_fdes);

#include "common/scoped.h"
DEFINE_SCOPED(struct eh_frame_parser *, eh_frame_parser_free);
