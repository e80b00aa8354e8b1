/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Prints FDEs of hand-made sections as text: "start..end" and the CFA of the first row, "S" for a
 * signal frame.
 */

#include <elf.h>

#include "agent/unwind/cfi/eh_frame.h"
#include "tests/unit/agent/unwind/frame_writer.h"

#define SECTION_VADDR 0x10000

static const maybe_unused struct instructions no_instructions = {};
static const maybe_unused struct instructions absolute = INSTRUCTIONS(EH_PE_ABSPTR);

struct fde_printer {
	char text[2048];
	size_t length;
};

static inline int print_cfa(void *argument, uint64_t address, const struct cfi_state *state)
{
	struct fde_printer *printer = argument;

	(void)address;
	printer->length += (size_t)snprintf(printer->text + printer->length,
					    sizeof(printer->text) - printer->length, " %+ld",
					    (long)state->cfa_offset);
	assert_true(printer->length < sizeof(printer->text));
	return 0;
}

static inline int print_fde(void *argument, const struct eh_frame_fde *fde)
{
	struct fde_printer *printer = argument;
	size_t length = printer->length;
	int r;

	printer->length +=
		(size_t)snprintf(printer->text + length, sizeof(printer->text) - length,
				 "%lx..%lx%s", (unsigned long)fde->program.start,
				 (unsigned long)fde->program.end, fde->is_signal_frame ? " S" : "");
	r = cfi_run(fde->context, &fde->program, fde->initial, print_cfa, printer);
	if (r == 0)
		printer->text[printer->length++] = '\n';
	else
		printer->length = length;
	printer->text[printer->length] = '\0';
	return r;
}

/*
 * Parses @content in pieces, which grow by @step bytes whenever nothing is consumed (0: all at
 * once). Returns the number of lost FDEs.
 */
static inline uint32_t parse(const struct eh_frame_section *section, struct bytes_view content,
			     size_t step, struct fde_printer *printer)
{
	scoped(eh_frame_parser_freep) struct eh_frame_parser *parser = NULL;
	size_t at = 0, length = step ? step : content.size;
	size_t consumed;
	int r = 1;

	*printer = (struct fde_printer){};
	assert_ok(eh_frame_parser_new(section, cfi_machine_of(EM_X86_64), print_fde, printer,
				      &parser));
	while (r == 1) {
		struct bytes_view piece = { content.data + at, MIN(length, content.size - at) };

		r = eh_frame_parse(parser, piece, &consumed);
		assert_ok(r);
		at += consumed;
		if (at + piece.size - consumed == content.size)
			break;
		length = consumed == 0 ? length + step : step;
	}
	return eh_frame_parser_lost(parser);
}

static inline struct eh_frame_section section_of(const struct bytes *content)
{
	return (struct eh_frame_section){ .vaddr = SECTION_VADDR, .size = content->size };
}

static inline void assert_fdes(const struct bytes *content, const char *expected, uint32_t lost)
{
	struct eh_frame_section section = section_of(content);
	struct fde_printer printer;

	assert_int_equal(parse(&section, bytes_view_of(content), 0, &printer), lost);
	assert_string_equal(printer.text, expected);
}
