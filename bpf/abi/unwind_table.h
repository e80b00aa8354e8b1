/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) OR Apache-2.0 */
#pragma once

/*
 * Unwind tables: how to compute the caller's registers at an ELF address.
 *
 *   rows    sorted by address, 4 bytes each: the offset in its page, and the number of a rule. A
 *           row is valid until the next one. A gap between FDEs has a row too (rule NONE), unless
 *           it is padding: a gap of less than 16 bytes before an FDE that begins at a multiple of
 *           16 contains no code, so the row before the gap stays valid in it.
 *   pages   for every 4 KiB of the executable's text the first row in it. With pages of 64 KiB the
 *           offset would fit 16 bits too, and there would be 2 % fewer rows. But a search in the
 *           hundred rows of a page of 4 KiB reads fewer cache lines than one in thousands of rows.
 *   rules   the few hundred distinct rules of the executable
 *
 * agent/unwind compiles rules from call frame information (DWARF 5 §6.4, LSB Core §10.6 for
 * .eh_frame).
 */

#include "bpf/abi/limits.h"

#define UNWIND_PAGE_SHIFT 12
#define UNWIND_PAGE_MASK  ((1u << UNWIND_PAGE_SHIFT) - 1)

struct abi_unwind_row {
	__u16 offset; /* in the page */
	__u16 rule;   /* index into the executable's rules */
};

/* How to compute the CFA. */
enum unwind_cfa {
	UNWIND_CFA_NONE = 0, /* no information: try the frame pointer */
	UNWIND_CFA_END = 1,  /* the outermost frame: return address undefined */
	UNWIND_CFA_SP = 2,   /* sp + offset */
	UNWIND_CFA_FP = 3,   /* fp + offset */
	/*
	 * DWARF register cfa_register + offset. All registers are known in the innermost frame; in
	 * the others only those of REGISTERS_OF_CALLEE (x86-64), and rbx if it is followed
	 */
	UNWIND_CFA_REGISTER = 4,
	UNWIND_CFA_DEREF_SP = 5, /* *(sp + offset) + addend */
	UNWIND_CFA_DEREF_FP = 6, /* *(fp + offset) + addend */
	UNWIND_CFA_PLT = 7,      /* x86-64 lazy PLT: sp + 8 + ((pc & 15) >= offset ? 8 : 0) */
	UNWIND_CFA_SIGNAL = 8,   /* the kernel's signal frame is at sp */
	/* an unsupported expression: try the frame pointer, and count the frame */
	UNWIND_CFA_UNSUPPORTED = 9,
	UNWIND_CFA_DEREF_INDEXED = 10, /* *(sp + offset + 8 * DWARF register cfa_register) + 8 */
	/*
	 * fp + offset, where fp points to another stack than sp (Go) and may be below it; the
	 * outermost frame if fp is 0
	 */
	UNWIND_CFA_OTHER_STACK = 11,
	/*
	 * x86-64: the code of clone() and clone3() from the system call to the return. In the
	 * parent the CFA is sp + offset. In the child (the system call returned 0) this is the
	 * outermost frame, because the child has its own stack.
	 */
	UNWIND_CFA_CLONE = 12
};

/* How to find the caller's frame pointer and return address. */
enum unwind_saved {
	/* still in its register: the frame pointer, or the link register for the return address */
	UNWIND_SAVED_SAME = 0,
	UNWIND_SAVED_CFA = 1,      /* at CFA + offset */
	UNWIND_SAVED_REGISTER = 2, /* in another register: the offset is its DWARF number */
	/* lost (frame pointer), or the outermost frame (return address) */
	UNWIND_SAVED_UNDEFINED = 3,
	UNWIND_SAVED_FP_DEREF = 4, /* at fp + offset (expressions of realigned frames) */
	/*
	 * return address: at CFA + fp_offset + 8. On arm64 that is after the frame pointer in the
	 * frame record. If the frame pointer is not saved, fp_offset only locates the return
	 * address.
	 */
	UNWIND_SAVED_BESIDE_FP = 5
};

/* Value of rbx_offset: the caller's rbx is unknown, because rbx is not followed or was changed. */
#define UNWIND_RBX_LOST (-32768)

/*
 * The frame pointer's offset has 32 bits, because a frame record at the bottom of a large frame
 * (arm64) is more than 32 KiB from the CFA. The return address is then next to it.
 *
 * rbx (x86-64) is the base of the CFA in the dynamic linker's _dl_runtime_resolve, which is in the
 * stack of every lookup of a lazily bound function. Only executables with such a CFA follow rbx,
 * because the functions above it are in the same executable. The caller's rbx is at CFA +
 * rbx_offset, or still in the register (0). In other executables rbx_offset is UNWIND_RBX_LOST.
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
		/* for UNWIND_CFA_REGISTER and UNWIND_CFA_DEREF_INDEXED: DWARF number */
		__u8 cfa_register;
		__s8 cfa_addend; /* for UNWIND_CFA_DEREF_SP, _FP: nearly always 8 */
	};
};

_Static_assert(sizeof(struct abi_unwind_row) == 4, "the size of a row in the pool");
_Static_assert(sizeof(struct abi_unwind_rule) == 16, "part of the BPF/userspace ABI");
