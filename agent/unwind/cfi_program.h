/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The interpreter of call frame instructions (DWARF 5 §6.4.2): a program of a few bytes per
 * function, which says from which address on which rules hold.
 *
 * Of all registers only those that a row can speak of are followed: the frame pointer, the return
 * address, and whether the stack pointer has a rule of its own, and one callee-saved register
 * that CFAs are made of (x86-64: rbx). Instructions about others are read and forgotten.
 */

#include "agent/unwind/cfa_shapes.h"
#include "common/elf/eh_pointer.h"

/* Nested remember_state: compilers reach 2 or 3. A program that goes deeper is lost. */
#define CFI_MAX_REMEMBERED 32

#define NO_REGISTER 0xff

/* DWARF register numbers of an architecture. */
struct cfi_machine {
	uint16_t elf_machine;
	uint8_t fp;
	uint8_t sp;
	uint8_t ra;   /* where the return address is, by convention */
	uint8_t kept; /* a callee-saved register that is the base of CFAs beside sp and fp, or
			 NO_REGISTER */
};

/* NULL for an architecture whose frames are not known here. @elf_machine: EM_X86_64, EM_AARCH64. */
const struct cfi_machine *cfi_machine_of(uint16_t elf_machine);

/* What a rule says of the caller's value of a register. */
enum cfi_where {
	CFI_UNSPECIFIED = 0,
	CFI_UNDEFINED,
	CFI_SAME,
	CFI_AT_CFA,      /* saved at CFA + value */
	CFI_IS_CFA,      /* is CFA + value */
	CFI_IN_REGISTER, /* value is a DWARF number */
	CFI_AT_REGISTER, /* saved at base + value (expression) */
	CFI_EXPRESSION   /* any other expression */
};

struct cfi_rule {
	uint8_t where; /* enum cfi_where */
	uint8_t base;  /* DWARF number */
	int64_t value;
};

/*
 * The rules that hold at an address. The CFA is register + offset, or with @cfa_is_shape an
 * expression's shape; register and offset outlive an expression, as def_cfa_register and
 * def_cfa_offset change one of them each.
 */
struct cfi_state {
	bool has_cfa;
	bool cfa_is_shape;
	uint64_t cfa_register;
	int64_t cfa_offset;
	struct cfa_shape cfa_shape;
	struct cfi_rule fp;
	struct cfi_rule ra;
	struct cfi_rule sp;
	struct cfi_rule kept;
};

/* What the instructions of a CIE and its FDEs have in common. */
struct cfi_context {
	const struct cfi_machine *machine;
	uint64_t code_align;
	int64_t data_align;
	uint64_t ra_column;
	uint8_t address_encoding; /* of set_loc */
	struct eh_pointer_bases bases;
};

struct cfi_program {
	struct bytes_view instructions;
	uint64_t instructions_vaddr;
	uint64_t start; /* the range of the FDE */
	uint64_t end;
};

/*
 * @state holds from @address to the next row's address, or to the end. Negative: stops the program,
 * which returns it.
 */
typedef int (*cfi_row_function)(void *argument, uint64_t address, const struct cfi_state *state);

/* Runs a CIE's initial instructions. 0, -EBADMSG. @ret_state is written on failure too. */
int cfi_run_initial(const struct cfi_context *context, struct bytes_view instructions,
		    struct cfi_state *ret_state);

/*
 * Runs an FDE's instructions on top of @initial. Rows come by rising address, all within [start,
 * end), the first at start; what the program says of addresses beyond the end is not looked at.
 * 0, -EBADMSG, or what @on_row returned.
 */
int cfi_run(const struct cfi_context *context, const struct cfi_program *program,
	    const struct cfi_state *initial, cfi_row_function on_row, void *on_row_argument);
