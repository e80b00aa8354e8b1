/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Frames of Go functions, from the table that Go's runtime walks stacks by
 * (agent/unwind/go_pclntab.h): for each instruction how far the stack pointer is below the return
 * address. What a frame pointer does in between is known of what the compiler writes, and looked up
 * in the code of hand-written functions.
 *
 * Functions that leave their stack for another one have rules of their own: see go_amd64.c.
 */

#include "agent/unwind/go_pclntab.h"
#include "agent/unwind/unwind_builder.h"
#include "common/elf/elf_file.h"

/* Rows of the function that is being looked at. */
VEC_DEFINE(go_row_vec, struct unwind_builder_row);

struct go_frames {
	const struct elf_file *elf; /* for the code of a few functions; NULL: none is known */
	const struct unwind_dialect *dialect;
	struct unwind_builder *builder;
	struct go_pclntab table;
	struct go_row_vec rows;
	uint64_t steps_left;  /* tables of many functions may be one: bounds the work */
	int32_t switch_delta; /* of the frame that calls asmcgocall; 0 unknown */
};

/* What the function at hand is. */
enum go_kind {
	GO_PLAIN,
	GO_OUTERMOST, /* the stack ends here */
	GO_SIGNAL,    /* the kernel returns to it from a signal handler */
	GO_SWITCHES,  /* goes on on another stack */
	GO_LEAVES,    /* the same, for good: what runs there is nobody's callee */
	GO_ASMCGOCALL,
};

struct go_frame {
	enum go_kind kind;
	bool is_asm;
	uint64_t start, end;
	uint64_t first_push; /* where the stack pointer is lower for the first time; 0 never */
	int32_t first_delta; /* by how much */
};

/* The functions of @pclntab to @builder. 1 added, 0 not understood, -ENOMEM, -ENODATA, -E2BIG. */
int go_frames_add(const struct elf_file *elf, const struct byte_window *pclntab,
		  uint64_t text_start, const struct unwind_dialect *dialect,
		  struct unwind_builder *builder);

/*
 * Rows of one machine: from those of the stack pointer (frames->rows, whose rules have the delta as
 * their cfa_offset) to whole ones.
 */
int go_amd64_finish_rows(struct go_frames *frames, const struct go_frame *frame);
int go_arm64_finish_rows(struct go_frames *frames, const struct go_frame *frame);

/* From @address on, within the function, @rule holds. */
int go_rows_replace_from(struct go_row_vec *rows, uint64_t address,
			 const struct abi_unwind_rule *rule);
