/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) OR Apache-2.0 */
#pragma once

/*
 * Unwind tables: at an ELF address, how to get the caller's registers.
 *
 *   rows    sorted by address, 4 bytes each: the offset in its page, and the number of a rule. A row holds
 *           until the next one. Gaps between FDEs are rows too (rule NONE), unless they are padding: less than 16
 *           bytes up to an FDE that begins at a multiple of 16, where no code is; the row before them goes on.
 *   pages   for every 4 KiB of the executable's text the first row in it. Pages of 64 KiB would do for 16 bits, and
 *           save 2 % of the rows; but a search over a hundred rows touches few cache lines, over thousands many
 *   rules   the few hundred distinct rules of the executable
 *
 * Rules are compiled from call frame information (DWARF 5 §6.4, LSB Core §10.6 for .eh_frame) by
 * agent/unwind.
 */

#include "bpf/abi/limits.h"

#define UNWIND_PAGE_SHIFT 12
#define UNWIND_PAGE_MASK  ((1u << UNWIND_PAGE_SHIFT) - 1)

struct abi_unwind_row {
	__u16 offset; /* in the page */
	__u16 rule;   /* index into the executable's rules */
};

/* How the CFA comes about. */
enum unwind_cfa {
	UNWIND_CFA_NONE = 0, /* nothing is known here: try the frame pointer */
	UNWIND_CFA_END = 1,  /* the outermost frame: return address undefined */
	UNWIND_CFA_SP = 2,   /* sp + offset */
	UNWIND_CFA_FP = 3,   /* fp + offset */
	UNWIND_CFA_REGISTER =
		4, /* DWARF register cfa_register + offset; known in the innermost frame, where a call
				    * leaves it alone (x86-64: registers that are the callee's), and rbx if followed */
	UNWIND_CFA_DEREF_SP = 5, /* *(sp + offset) + addend */
	UNWIND_CFA_DEREF_FP = 6, /* *(fp + offset) + addend */
	UNWIND_CFA_PLT = 7,      /* x86-64 lazy PLT: sp + 8 + ((pc & 15) >= offset ? 8 : 0) */
	UNWIND_CFA_SIGNAL = 8,   /* the kernel's signal frame lies at sp */
	/* an expression of no known shape: try the frame pointer, count it */
	UNWIND_CFA_UNSUPPORTED = 9,
	UNWIND_CFA_DEREF_INDEXED = 10, /* *(sp + offset + 8 * DWARF register cfa_register) + 8 */
	UNWIND_CFA_OTHER_STACK =
		11, /* fp + offset, where fp is of another stack than sp (Go) and may lie below it; the
				      * outermost frame where fp is 0 */
	UNWIND_CFA_CLONE =
		12 /* x86-64, from the system call clone() or clone3() to its return: sp + offset; in
				    * the child, where it returns 0, the outermost frame, on a stack of its own */
};

/* Where the caller's frame pointer and return address are. */
enum unwind_saved {
	/* still in the register (frame pointer), in the link register (return address) */
	UNWIND_SAVED_SAME = 0,
	UNWIND_SAVED_CFA = 1,      /* at CFA + offset */
	UNWIND_SAVED_REGISTER = 2, /* in another register: offset is its DWARF number */
	/* lost (frame pointer), or the outermost frame (return address) */
	UNWIND_SAVED_UNDEFINED = 3,
	UNWIND_SAVED_FP_DEREF = 4, /* at fp + offset (expressions of realigned frames) */
	UNWIND_SAVED_BESIDE_FP =
		5 /* return address: at CFA + fp_offset + 8, above the frame pointer in arm64's frame
				     * record, or without one */
};

/* Of rbx_offset: not followed, or lost. */
#define UNWIND_RBX_LOST (-32768)

/*
 * The frame pointer's offset has 32 bits: a frame record at the bottom of a large frame (arm64) is
 * farther than 32 KiB from the CFA. The return address is beside it then.
 *
 * rbx (x86-64) is the CFA's base in the dynamic linker's _dl_runtime_resolve, under which every
 * lazily bound function is looked up. Only executables with such a CFA follow it, as that is where
 * the functions above it are: the caller's rbx is at CFA + rbx_offset, or still in the register
 * (0). Elsewhere it is UNWIND_RBX_LOST.
 */
struct abi_unwind_rule {
	__s32 cfa_offset;
	__s32 fp_offset;
	__s16 ra_offset; /* x86-64: -8 */
	__s16 rbx_offset;
	__u8 cfa; /* enum unwind_cfa */
	__u8 fp;  /* enum unwind_saved */
	__u8 ra;  /* enum unwind_saved */
	union {
		/* of UNWIND_CFA_REGISTER and UNWIND_CFA_DEREF_INDEXED: DWARF number */
		__u8 cfa_register;
		__s8 cfa_addend; /* of UNWIND_CFA_DEREF_SP, _FP: 8 nearly always */
	};
};

_Static_assert(sizeof(struct abi_unwind_row) == 4, "what a row costs");
_Static_assert(sizeof(struct abi_unwind_rule) == 16, "part of the BPF/userspace ABI");
