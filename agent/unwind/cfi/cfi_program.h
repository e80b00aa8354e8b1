/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Interprets call frame instructions (DWARF 5 §6.4.2). Each function has a few bytes of them, which
 * define how to restore the caller's registers in each address range.
 *
 * The interpreter follows only the registers that a row of an unwind table can describe: the frame
 * pointer, the return address, the stack pointer (only whether it has a rule other than the CFA),
 * and the "kept" register, one callee-saved register from which some CFAs are computed (x86-64:
 * rbx). It ignores instructions about other registers.
 */

#include "agent/unwind/cfi/cfa_shapes.h"
#include "common/elf/eh_pointer.h"

/* Most nested remember_state instructions; compilers write 2 or 3. An FDE with more is refused. */
#define CFI_MAX_REMEMBERED 32

#define NO_REGISTER 0xff

/* DWARF register numbers of an architecture. */
struct cfi_machine {
	uint16_t elf_machine;
	uint8_t fp;
	uint8_t sp;
	uint8_t ra; /* the usual register or column of the return address */
	/* the kept register: besides sp and fp, CFAs may be computed from it; or NO_REGISTER */
	uint8_t kept;
};

/* NULL: the architecture is not supported. @elf_machine: EM_X86_64, EM_AARCH64. */
const struct cfi_machine *cfi_machine_of(uint16_t elf_machine);

/* Where the caller's value of a register is. */
enum cfi_where {
	CFI_UNSPECIFIED = 0,
	CFI_UNDEFINED,
	CFI_SAME,
	CFI_AT_CFA,      /* saved at CFA + value */
	CFI_IS_CFA,      /* is CFA + value */
	CFI_IN_REGISTER, /* the value is a DWARF number */
	CFI_AT_REGISTER, /* saved at register base + value (by an expression) */
	CFI_EXPRESSION   /* by any other expression */
};

struct cfi_rule {
	uint8_t where; /* enum cfi_where */
	uint8_t base;  /* DWARF number */
	int64_t value;
};

/*
 * The rules at an address. The CFA is cfa_register + cfa_offset, or cfa_shape if @cfa_is_shape. An
 * expression does not change cfa_register and cfa_offset, because def_cfa_register and
 * def_cfa_offset change only one of them each.
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

/* What the instructions of a CIE and its FDEs depend on. */
struct cfi_context {
	const struct cfi_machine *machine;
	uint64_t code_align;
	int64_t data_align;
	uint64_t ra_column;
	uint8_t address_encoding; /* of the address in set_loc */
	struct eh_pointer_bases bases;
};

struct cfi_program {
	struct bytes_view instructions;
	uint64_t instructions_vaddr;
	uint64_t start; /* the FDE covers [start, end) */
	uint64_t end;
};

/*
 * Receives one row: @state is valid from @address to the next row's address, or to the end of the
 * FDE. If it returns a negative value, cfi_run() stops and returns that value.
 */
typedef int (*cfi_row_function)(void *argument, uint64_t address, const struct cfi_state *state);

/* Runs the initial instructions of a CIE. 0, -EBADMSG. @ret_state is written on failure too. */
int cfi_run_initial(const struct cfi_context *context, struct bytes_view instructions,
		    struct cfi_state *ret_state);

/*
 * Runs the instructions of an FDE, starting from @initial. Rows are reported by rising address, all
 * within [start, end), the first at start. Instructions for addresses beyond the end are not
 * executed. 0, -EBADMSG, or the negative value of @on_row.
 */
int cfi_run(const struct cfi_context *context, const struct cfi_program *program,
	    const struct cfi_state *initial, cfi_row_function on_row, void *on_row_argument);
