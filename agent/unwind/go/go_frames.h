/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Unwind rows for Go functions, from the table with which Go's runtime walks stacks
 * (agent/unwind/go/go_pclntab.h). For each instruction, the table has the distance of the stack
 * pointer from the return address. Where the frame pointer is saved follows from the code that the
 * compiler writes; for hand-written functions it is read from their code.
 *
 * Functions that switch to another stack have special rules: see go_amd64.c.
 */

#include "agent/unwind/go/go_pclntab.h"
#include "agent/unwind/table/unwind_builder.h"
#include "common/elf/elf_file.h"

/* Rows of the current function. */
VEC_DEFINE(go_row_vec, struct unwind_builder_row);

struct go_frames {
	/* file from which the code of a few functions is read; NULL: not available */
	const struct elf_file *elf;
	const struct unwind_dialect *dialect;
	struct unwind_builder *builder;
	struct go_pclntab table;
	struct go_row_vec rows;
	uint64_t steps_left;  /* bounds the work, because functions may share a table */
	int32_t switch_delta; /* frame size of the function that calls asmcgocall; 0: unknown */
};

/* Kind of a function. */
enum go_kind {
	GO_PLAIN,
	GO_OUTERMOST, /* the stack ends here */
	GO_SIGNAL,    /* the kernel returns to it from a signal handler */
	GO_SWITCHES,  /* switches to another stack */
	GO_LEAVES,    /* switches to another stack and does not return: code there has no caller */
	GO_ASMCGOCALL,
};

struct go_frame {
	enum go_kind kind;
	bool is_asm;
	uint64_t start, end;
	uint64_t first_push; /* the first address at which the stack pointer is lower; 0: never */
	int32_t first_delta; /* by how many bytes it is lower there */
};

/*
 * Adds the functions of @pclntab to @builder. 1: added; 0: the table is not supported; -ENOMEM,
 * -ENODATA, -E2BIG.
 */
int go_frames_add(const struct elf_file *elf, const struct byte_window *pclntab,
		  uint64_t text_start, const struct unwind_dialect *dialect,
		  struct unwind_builder *builder);

/*
 * Completes the rules of frames->rows for one architecture. Before, their cfa_offset is the
 * distance of the stack pointer from the return address.
 */
int go_amd64_finish_rows(struct go_frames *frames, const struct go_frame *frame);
int go_arm64_finish_rows(struct go_frames *frames, const struct go_frame *frame);

/* Sets @rule for the rest of the function from @address on. */
int go_rows_replace_from(struct go_row_vec *rows, uint64_t address,
			 const struct abi_unwind_rule *rule);
